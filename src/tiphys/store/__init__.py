"""etcd's place in the story: after admission and validation, a write becomes durable here; every watch begins here."""
