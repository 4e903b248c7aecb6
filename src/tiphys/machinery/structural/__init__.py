"""Structural schemas: what a CustomResourceDefinition says of its objects, compiled, and what follows from it.

A request for a custom resource meets these in order: pruning (machinery/decode), `defaulting`, and after admission `values`
(types, bounds, patterns), `embedded` (resources inside of resources), `lists` (keys of lists that are sets or maps) and
`numbers`, on the way to the store.
"""
