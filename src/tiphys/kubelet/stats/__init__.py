"""What pods and the node use: read from cgroups, file systems and the runtime, told as a summary and as metrics.

figures.py     the values, and what the texts of the kernel say      (core)
reading.py     the files of cgroups, network namespaces, disks
collector.py   one look at everything
summary.py     as /stats/summary tells it                            (core)
exposition.py  as /metrics/resource and /metrics/cadvisor tell it    (core)
"""
