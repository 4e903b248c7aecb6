"""The server's own description: OpenAPI v2 in one document, v3 in one a group and version."""
