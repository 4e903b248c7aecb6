"""Composition roots: the only place that builds and wires objects. `main.py` maps words to commands."""
