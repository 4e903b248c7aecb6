"""Custom resources: a CustomResourceDefinition becomes a Kind at run time and takes the same path as built-in ones.

`names` decides whether its names are free and what its conditions say, `kinds` makes the values that the catalogue serves, and
`serving` follows the stored definitions: it adds and removes kinds within the commit that changes one, writes their conditions,
and deletes the objects of a definition that is being deleted.
"""
