"""The objects that a cluster has before anybody creates one. An edge writes them at start; what differs is reconciled.

`rbac_policy` default roles and bindings; `flow_control` priority levels and flow schemas; `api_services` the groups that are
served here; `cluster` namespaces, priority classes and the like; `reconcile` what to write where an object is there already.
"""
