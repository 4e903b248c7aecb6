"""How fast and at what cost controllers make the pods that Deployments ask for: any controller manager, any API server."""
