"""What objects count as against a ResourceQuota. Used by admission (before a write) and by the quota controller (after)."""
