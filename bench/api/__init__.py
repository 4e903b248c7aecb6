"""Load on an API server: `python -m bench.api --kubeconfig F [--pid N] [--compare OTHER --compare-pid M]`."""
