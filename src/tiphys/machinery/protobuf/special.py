"""Messages that are one value in JSON: quantities, times, raw JSON, and the alternatives of a CRD's schema."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final

import orjson

from tiphys.machinery import duration, times
from tiphys.machinery.protobuf.wire import BYTES, VARINT, int32, int64, pieces, text, wrong_type

Reader = Callable[[bytes, int, int, int], Any]
"""(data, from, to, depth of nesting) -> value; None where JSON has nothing."""

META: Final = "apimachinery.pkg.apis.meta.v1."
APIEXTENSIONS: Final = "apiextensions-apiserver.pkg.apis.apiextensions.v1."


def _number(data: bytes, at: int, end: int, wanted: int) -> int:
    found = 0
    for number, wire, value, _ in pieces(data, at, end):
        if number == wanted:
            if wire != VARINT:
                raise wrong_type(wire, "a number")
            found = value
    return found


def _text(data: bytes, at: int, end: int, wanted: int) -> str:
    found = ""
    for number, wire, start, stop in pieces(data, at, end):
        if number == wanted:
            if wire != BYTES:
                raise wrong_type(wire, "a text")
            found = text(data, start, stop)
    return found


def _quantity(data: bytes, at: int, end: int, _depth: int) -> str:
    return _text(data, at, end, 1) or "0"


def _int_or_string(data: bytes, at: int, end: int, _depth: int) -> int | str:
    return _text(data, at, end, 3) if _number(data, at, end, 1) else int32(_number(data, at, end, 2))


def _time(data: bytes, at: int, end: int, _depth: int) -> str | None:
    if at == end:
        return None
    return times.from_parts(int64(_number(data, at, end, 1)), int32(_number(data, at, end, 2))) or None


def _micro_time(data: bytes, at: int, end: int, _depth: int) -> str | None:
    if at == end:
        return None
    return times.from_parts(int64(_number(data, at, end, 1)), int32(_number(data, at, end, 2)), micro=True) or None


def _duration(data: bytes, at: int, end: int, _depth: int) -> str:
    return duration.spell(int64(_number(data, at, end, 1)))


def _json(data: bytes, at: int, end: int, _depth: int) -> Any:
    for number, wire, start, stop in pieces(data, at, end):
        if number == 1 and wire != BYTES:
            raise wrong_type(wire, "raw JSON")
        if number == 1 and stop > start:
            return orjson.loads(memoryview(data)[start:stop])
    return None


def strings(data: bytes, at: int, end: int, _depth: int) -> list[str]:
    """A list that protobuf has to wrap in a message."""
    return [text(data, start, stop) for number, wire, start, stop in pieces(data, at, end) if (number, wire) == (1, BYTES)]


def readers(message: Callable[[str], Reader]) -> dict[str, Reader]:
    """By the name of the message; `message` finds the reader of any other."""

    def schema(data: bytes, at: int, end: int, depth: int) -> Any:
        return message(APIEXTENSIONS + "JSONSchemaProps")(data, at, end, depth + 1)

    def schema_or_bool(data: bytes, at: int, end: int, depth: int) -> Any:
        allows, found = False, None
        for number, wire, start, stop in pieces(data, at, end):
            if number == 1 and wire == VARINT:
                allows = start != 0
            elif number == 2 and wire == BYTES:
                found = schema(data, start, stop, depth)
        return allows if found is None else found

    def schema_or_list(read: Reader) -> Reader:
        def either(data: bytes, at: int, end: int, depth: int) -> Any:
            found, listed = None, []
            for number, wire, start, stop in pieces(data, at, end):
                if number == 1 and wire == BYTES:
                    found = schema(data, start, stop, depth)
                elif number == 2 and wire == BYTES:
                    listed.append(read(data, start, stop, depth))
            return listed or found

        return either

    return {
        "apimachinery.pkg.api.resource.Quantity": _quantity,
        "apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
        "apimachinery.pkg.runtime.RawExtension": _json,
        META + "Time": _time,
        META + "MicroTime": _micro_time,
        META + "Duration": _duration,
        META + "FieldsV1": _json,
        META + "Verbs": strings,
        APIEXTENSIONS + "JSON": _json,
        APIEXTENSIONS + "JSONSchemaPropsOrBool": schema_or_bool,
        APIEXTENSIONS + "JSONSchemaPropsOrArray": schema_or_list(schema),
        APIEXTENSIONS + "JSONSchemaPropsOrStringArray": schema_or_list(lambda data, at, end, _: text(data, at, end)),
    }


def base64_of(data: bytes, at: int, end: int) -> str:
    return b64encode(data[at:end]).decode("ascii")
