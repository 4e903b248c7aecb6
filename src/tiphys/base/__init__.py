"""What every component stands on and what knows nothing of Kubernetes: clock, tasks, logs, metrics, TLS, HTTP."""
