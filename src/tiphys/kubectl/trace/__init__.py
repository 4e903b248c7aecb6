"""`tiphys trace pod/NAME`: what was done for a pod, by whom, when, and how long it took.

`gather` asks the API server for what each component remembers; `timeline` makes one story of it.
"""
