"""May they? The second question to every request, after authn has told who asks and before admission looks at what is written.

Everything here is core: an authorizer is a value that is kept up to date and asked without waiting.
"""
