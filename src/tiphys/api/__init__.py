"""One file a kind: schema name, defaults, validation, strategy, columns. `registry.py` lists them in discovery order."""
