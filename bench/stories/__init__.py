"""The same stories told to two clusters, and what became of them compared field by field."""
