"""Benchmark of schedulers, ours or others, against any API server."""
