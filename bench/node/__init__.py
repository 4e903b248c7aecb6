"""Benchmark of nodes, ours or others, under any API server."""
