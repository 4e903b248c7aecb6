"""Every way to change an object by a patch: RFC 6902, RFC 7386, strategic merge and server-side apply, over JSON trees.

Nothing here changes its arguments. What a patch leaves alone is shared between the old tree and the new one, so a caller that
wants to change the result in place copies first.
"""
