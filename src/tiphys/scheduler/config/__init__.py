"""How the scheduler is set up: upstream's KubeSchedulerConfiguration (v1), and the policy files that came before it.

`reading` checks the text of a file, `settings` makes values of it, `plugin_sets` works out which plugins run where; `policy`
turns the old names of predicates and priorities into a configuration. `scheduler.profiles` builds plugins from the result.
"""
