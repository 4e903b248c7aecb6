"""Protobuf messages from .proto text at run time: no compiler, no generated code.

`load(text)` reads the proto3 language as far as gRPC services of one file use it: messages, enums, nesting, oneof, map,
repeated, optional and services. Imports and extensions are refused; options and reserved ranges are read over. The messages
live in a descriptor pool of their own, so that two libraries may describe the same package without a clash.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# A message class is made at run time and has no static type.
MessageClass = Any

_File = Any
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS: dict[str, int] = {
    "double": _Field.TYPE_DOUBLE,
    "float": _Field.TYPE_FLOAT,
    "int64": _Field.TYPE_INT64,
    "uint64": _Field.TYPE_UINT64,
    "int32": _Field.TYPE_INT32,
    "fixed64": _Field.TYPE_FIXED64,
    "fixed32": _Field.TYPE_FIXED32,
    "bool": _Field.TYPE_BOOL,
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
    "uint32": _Field.TYPE_UINT32,
    "sfixed32": _Field.TYPE_SFIXED32,
    "sfixed64": _Field.TYPE_SFIXED64,
    "sint32": _Field.TYPE_SINT32,
    "sint64": _Field.TYPE_SINT64,
}
_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|(?P<token>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\.?[A-Za-z_][\w.]*|-?\d\w*|[^\s\w])""",
    re.S,
)


class ProtoError(ValueError):
    """The text is not proto3 as this module reads it."""


@dataclass(frozen=True, slots=True)
class Method:
    path: str
    """As gRPC calls it: /package.Service/Method."""
    request: MessageClass
    response: MessageClass
    client_streaming: bool
    server_streaming: bool


@dataclass(frozen=True, slots=True)
class Protos:
    package: str
    messages: Mapping[str, MessageClass]
    """By name within the package: `Outer`, `Outer.Inner`."""
    enums: Mapping[str, Mapping[str, int]]
    services: Mapping[str, Mapping[str, Method]]

    def __getitem__(self, name: str) -> MessageClass:
        return self.messages[name]


def load(text: str, name: str = "inline.proto") -> Protos:
    """`name` is only told in errors."""
    file = _Parser(text, name).file()
    scopes = _resolve_types(file, name)
    pool = descriptor_pool.DescriptorPool()
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except TypeError as error:
        raise ProtoError(f"{name}: {error}") from error
    prefix = file.package + "." if file.package else ""
    messages: dict[str, MessageClass] = {}
    enums: dict[str, dict[str, int]] = {}
    for full, is_message in scopes.items():
        short = full.removeprefix("." + prefix)
        if is_message:
            messages[short] = message_factory.GetMessageClass(pool.FindMessageTypeByName(full[1:]))
        else:
            enums[short] = {value.name: value.number for value in pool.FindEnumTypeByName(full[1:]).values}
    services = {
        service.name: {
            method.name: Method(
                f"/{prefix}{service.name}/{method.name}",
                messages[method.input_type.removeprefix("." + prefix)],
                messages[method.output_type.removeprefix("." + prefix)],
                method.client_streaming,
                method.server_streaming,
            )
            for method in service.method
        }
        for service in file.service
    }
    return Protos(file.package, messages, enums, services)


def _resolve_types(file: _File, name: str) -> dict[str, bool]:
    """Give every reference its full name, by protobuf's scoping rule; all names of the file, and which are messages."""
    root = "." + file.package if file.package else ""
    known: dict[str, bool] = {}

    def collect(scope: str, messages: Any, enums: Any) -> None:
        for enum in enums:
            known[f"{scope}.{enum.name}"] = False
        for message in messages:
            known[f"{scope}.{message.name}"] = True
            collect(f"{scope}.{message.name}", message.nested_type, message.enum_type)

    def resolve(scope: str, reference: str) -> str:
        if reference.startswith("."):
            candidates = [reference]
        else:
            parts = scope.split(".")
            candidates = [".".join([*parts[:count], reference]) for count in range(len(parts), 0, -1)]
        for candidate in candidates:
            if candidate in known:
                return candidate
        raise ProtoError(f"{name}: {reference} is not defined")

    def visit(scope: str, messages: Any) -> None:
        for message in messages:
            inner = f"{scope}.{message.name}"
            for field in message.field:
                if field.type_name:
                    field.type_name = resolve(inner, field.type_name)
                    field.type = _Field.TYPE_MESSAGE if known[field.type_name] else _Field.TYPE_ENUM
            visit(inner, message.nested_type)

    collect(root, file.message_type, file.enum_type)
    visit(root, file.message_type)
    for service in file.service:
        for method in service.method:
            method.input_type = resolve(root, method.input_type)
            method.output_type = resolve(root, method.output_type)
    return known


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ProtoError(f"cannot read {text[at : at + 20]!r}")
        if match["token"] is not None:
            yield match["token"], at
        at = match.end()


class _Parser:
    """Recursive descent; one method for each construct, each called when its keyword has been taken."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._tokens = list(_tokens(text))
        self._at = 0

    def file(self) -> _File:
        file = descriptor_pb2.FileDescriptorProto(name=self._name, syntax="proto3")
        while self._at < len(self._tokens):
            keyword = self._take()
            if keyword == "syntax":
                self._expect("=")
                if self._take()[1:-1] != "proto3":
                    raise self._wrong("only proto3 is read")
                self._expect(";")
            elif keyword == "package":
                file.package = self._take()
                self._expect(";")
            elif keyword == "message":
                self._message(file.message_type.add())
            elif keyword == "enum":
                self._enum(file.enum_type.add())
            elif keyword == "service":
                self._service(file.service.add())
            elif keyword == "option":
                self._skip_to(";")
            elif keyword != ";":
                raise self._wrong(f"unexpected {keyword!r}")
        return file

    def _message(self, message: Any) -> None:
        message.name = self._take()
        optional: list[Any] = []
        nested: dict[str, Callable[[], None]] = {
            "message": lambda: self._message(message.nested_type.add()),
            "enum": lambda: self._enum(message.enum_type.add()),
            "oneof": lambda: self._oneof(message),
            "option": lambda: self._skip_to(";"),
            "reserved": lambda: self._skip_to(";"),
            ";": lambda: None,
        }
        self._expect("{")
        while (word := self._take()) != "}":
            if word in nested:
                nested[word]()
            elif word == "map":
                self._map(message)
            elif word == "repeated":
                self._field(message, self._take(), _Field.LABEL_REPEATED)
            elif word == "optional":
                optional.append(self._field(message, self._take()))
            else:
                self._field(message, word)
        # Presence in proto3 is a oneof of one, and these come after all others.
        for field in optional:
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name="_" + field.name)

    def _field(self, message: Any, type_name: str, label: int = _Field.LABEL_OPTIONAL) -> Any:
        field = message.field.add(name=self._take(), label=label)
        self._expect("=")
        field.number = self._number()
        self._set_type(field, type_name)
        if self._peek() == "[":
            self._skip_to("]")
        self._expect(";")
        return field

    def _oneof(self, message: Any) -> None:
        index = len(message.oneof_decl)
        message.oneof_decl.add(name=self._take())
        self._expect("{")
        while (word := self._take()) != "}":
            if word == "option":
                self._skip_to(";")
            else:
                self._field(message, word).oneof_index = index

    def _map(self, message: Any) -> None:
        self._expect("<")
        key_type = self._take()
        self._expect(",")
        value_type = self._take()
        self._expect(">")
        field = self._field(message, "?", _Field.LABEL_REPEATED)
        entry = "".join(part[:1].upper() + part[1:] for part in field.name.split("_")) + "Entry"
        field.type_name = entry
        made = message.nested_type.add(name=entry)
        made.options.map_entry = True
        self._set_type(made.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL), key_type)
        self._set_type(made.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL), value_type)

    def _enum(self, enum: Any) -> None:
        enum.name = self._take()
        self._expect("{")
        while (word := self._take()) != "}":
            if word in ("option", "reserved"):
                self._skip_to(";")
            elif word != ";":
                self._expect("=")
                enum.value.add(name=word, number=self._number())
                if self._peek() == "[":
                    self._skip_to("]")
                self._expect(";")
        if len({value.number for value in enum.value}) < len(enum.value):
            enum.options.allow_alias = True

    def _service(self, service: Any) -> None:
        service.name = self._take()
        self._expect("{")
        while (word := self._take()) != "}":
            if word == "option":
                self._skip_to(";")
            elif word == "rpc":
                method = service.method.add(name=self._take())
                method.input_type, method.client_streaming = self._argument()
                self._expect("returns")
                method.output_type, method.server_streaming = self._argument()
                if self._take() == "{":
                    self._skip_to("}")
            elif word != ";":
                raise self._wrong(f"unexpected {word!r}")

    def _argument(self) -> tuple[str, bool]:
        self._expect("(")
        name, streaming = self._take(), False
        if name == "stream" and self._peek() != ")":
            name, streaming = self._take(), True
        self._expect(")")
        return name, streaming

    def _set_type(self, field: Any, type_name: str) -> None:
        if type_name in _SCALARS:
            field.type = _SCALARS[type_name]
        else:
            field.type_name = type_name

    def _peek(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        if not token:
            raise self._wrong("unexpected end")
        self._at += 1
        return token

    def _number(self) -> int:
        try:
            return int(self._take(), 0)
        except ValueError as error:
            raise self._wrong("a number was expected") from error

    def _expect(self, token: str) -> None:
        if self._take() != token:
            raise self._wrong(f"{token!r} was expected")

    def _skip_to(self, end: str) -> None:
        while self._take() != end:
            pass

    def _wrong(self, why: str) -> ProtoError:
        offset = self._tokens[max(self._at - 1, 0)][1] if self._tokens else 0
        return ProtoError(f"{self._name}, line {self._text.count(chr(10), 0, offset) + 1}: {why}")
