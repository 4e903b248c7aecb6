"""Amounts of resources as people write them."""

from tiphys.machinery import quantity

_BYTES = ("memory", "ephemeral-storage")
_STEPS = (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def spelled(resource: str, amount: int) -> str:
    """`amount` is in thousandths of CPU, in whole units of anything else; bytes are rounded up to what can be read."""
    if resource == "cpu":
        return str(quantity.from_milli(amount))
    if resource in _BYTES or resource.startswith("hugepages-"):
        for suffix, size in _STEPS:
            if (amount % size == 0 and amount) or amount >= 10 * size:
                return f"{-(-amount // size)}{suffix}"
    return str(amount)
