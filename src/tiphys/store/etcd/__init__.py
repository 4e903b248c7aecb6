"""The store of several API servers: a real etcd, with a mirror of it in memory that answers the reads.

async with EtcdStore.open(EtcdConfig(endpoints=("http://127.0.0.1:2379",))) as store:
    ...
"""

from tiphys.store.etcd.connection import EtcdConfig
from tiphys.store.etcd.store import EtcdStore

__all__ = ["EtcdConfig", "EtcdStore"]
