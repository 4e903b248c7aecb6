"""The end of a node with its machine: pods end in order before the machine goes down.

`order` says which pods end when, and how long each may take; `logind` is told of the machine's shutdown by systemd and holds it
up meanwhile; `manager` ends the pods. Where the machine has no systemd the pods go with the machine.
"""
