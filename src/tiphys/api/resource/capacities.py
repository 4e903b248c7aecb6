"""How much of a device there is, and in which portions it may be given to several claims."""

from collections.abc import Iterator

from tiphys.api.resource.names import validate_each
from tiphys.machinery import quantity
from tiphys.machinery.fields import FieldError, child, forbidden, index, invalid, required
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj

MOST_OPTIONS = 10
ONE_POLICY = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'


def validate_exclusive(capacity: Obj, at: str) -> Iterator[FieldError]:
    if capacity.get("requestPolicy") is not None:
        yield forbidden(child(at, "requestPolicy"), "allowMultipleAllocations must be true")


def validate_shared(capacity: Obj, at: str) -> Iterator[FieldError]:
    policy, where = capacity.get("requestPolicy"), child(at, "requestPolicy")
    if policy is None:
        return
    values, span, usual = policy.get("validValues"), policy.get("validRange"), policy.get("default")
    most = quantity.parse(capacity.get("value", "0"))
    if values and span is not None:
        yield forbidden(where, ONE_POLICY)
    elif values:
        if usual is None:
            yield required(child(where, "default"), "required when validValues is defined")
        else:
            yield from _validate_values(quantity.parse(usual), most, values, child(where, "validValues"))
    elif span is not None:
        if usual is None:
            yield required(child(where, "default"), "required when validRange is defined")
        else:
            yield from _validate_range(quantity.parse(usual), most, span, child(where, "validRange"))


def _validate_values(usual: Quantity, most: Quantity, texts: list[str], at: str) -> Iterator[FieldError]:
    values = [quantity.parse(text) for text in texts]
    for position in range(1, len(values)):
        if values[position - 1] > values[position]:
            yield invalid(index(at, position), texts[position], "values must be sorted in ascending order")

    def check(text: str, where: str) -> Iterator[FieldError]:
        if quantity.parse(text) > most:
            yield invalid(where, text, f"option is larger than capacity value: {most}")

    yield from validate_each(texts, MOST_OPTIONS, check, at, lambda text: str(quantity.parse(text).value()))
    if len(values) > MOST_OPTIONS or usual not in values:
        yield invalid(at, str(usual), "default value is not valid according to the requestPolicy")


def _validate_range(usual: Quantity, most: Quantity, span: Obj, at: str) -> Iterator[FieldError]:
    low, high, step = (quantity.parse(span[name]) if span.get(name) is not None else None for name in ("min", "max", "step"))
    if low is None:
        yield required(child(at, "min"), "required when validRange is defined")
        return
    if low > most:
        yield invalid(child(at, "min"), str(low), f"min is larger than capacity value: {most}")
    if usual < low:
        yield invalid(child(at, "min"), str(usual), f"default is less than min: {low}")
    if high is not None:
        if low > high:
            yield invalid(child(at, "max"), str(low), f"min is larger than max: {high}")
        if high > most:
            yield invalid(child(at, "max"), str(high), f"max is larger than capacity value: {most}")
        if usual > high:
            yield invalid(child(at, "max"), str(usual), f"default is more than max: {high}")
    if step is not None:
        where, first = child(at, "step"), low.add(step)
        if first > most:
            yield invalid(where, str(step), f"one step {first} is larger than capacity value: {most}")
        for value in (usual, high):
            # A step of zero divides nothing; upstream's arithmetic has no answer for it either.
            if value is not None and (step.value() == 0 or (value.value() - low.value()) % step.value()):
                yield invalid(where, str(value), f"value is not a multiple of a given step ({step}) from ({low})")
