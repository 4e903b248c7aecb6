"""Strategic merge patch: a merge patch that knows, from the schema, which lists merge and by which key.

Of a patch, `$`-keys are directives: `$patch: replace|delete` in an object or in an element of a list, `$retainKeys`,
`$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>`. The order of a merged list follows the order directive (or the
patch), then the live list. Only the spine down to what changes is copied.
"""

from tiphys.machinery.patch.strategic.merging import apply

__all__ = ["apply"]
