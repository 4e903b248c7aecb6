"""Benchmarks that take any kubeconfig, so that upstream can be measured beside us."""
