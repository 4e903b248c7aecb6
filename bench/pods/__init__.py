"""The same hundred pods on real containers under two clusters, and what became of them compared field by field."""
