"""Audit: who asked the API server for what, when, and what came of it. The pipeline tells it of every request; a policy says
how much of that is written down, and back ends where."""
