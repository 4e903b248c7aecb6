"""The API server: kubectl's request arrives here and leaves as a durable object that controllers see.

Before it: kubectl. After it: the store, then every controller that watches.
"""
