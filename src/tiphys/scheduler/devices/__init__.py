"""Devices that nodes offer in slices, and which of them a claim is given.

[pools.py](pools.py) has what a node can have something of, [claims.py](claims.py) what is given already, [asking.py](asking.py)
what a claim asks for, [allocating.py](allocating.py) looks for devices that do, [results.py](results.py) tells which.
"""
