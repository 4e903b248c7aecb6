"""Encryption at rest: some resources are kept in a form that the file, the disk or the etcd behind it does not give away."""
