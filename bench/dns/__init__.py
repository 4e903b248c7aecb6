"""How many questions the DNS server answers on one core, and how soon: python -m bench.dns

The server and whoever asks have a core each. First as many questions as it can take are under way all the time, then they come
at a constant rate, and what is told is the time from the moment when each was due until its answer was there.
"""
