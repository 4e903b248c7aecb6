"""Upstream's controller manager and scheduler beside an API server: do they do all their work, and what do they complain of?"""
