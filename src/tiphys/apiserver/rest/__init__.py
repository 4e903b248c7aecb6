"""The verbs, over any kind: create, read (get, list), update, patch, delete, watch."""
