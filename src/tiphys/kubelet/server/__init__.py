"""The kubelet's HTTPS server: logs, exec, attach and port-forward, for the API server and for whoever may proxy to nodes."""
