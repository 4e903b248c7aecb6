"""A constant load on a Service, and every request counted that was not answered: does rolling a Deployment lose any?

python -m bench.steady 10.96.0.17:80 --rate 500 --seconds 60

Requests begin when they are due, whether or not earlier ones have been answered, each by a connection of its own: so each is
balanced anew, and meets whatever rules the kernel has at that moment. Run it where the address works: on a node, or beside one.
"""
