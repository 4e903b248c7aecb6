"""The Node object: made once, its status kept true, and a Lease that says that somebody is still there."""
