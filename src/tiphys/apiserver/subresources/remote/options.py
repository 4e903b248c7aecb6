"""What a client may ask of logs, exec, attach and port-forward: read from the query, checked, and said to the node. Core."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from tiphys.apiserver.request import Query, is_true
from tiphys.machinery import errors, times
from tiphys.machinery.fields import FieldError, forbidden, invalid, not_supported
from tiphys.machinery.tree import Obj

LOG_STREAMS = ("All", "Stderr", "Stdout")

_INT64 = 1 << 63
_TO_THE_NODE = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
"""The names by which a kubelet knows the streams."""


def for_log(query: Query) -> Obj:
    """PodLogOptions. Raises ApiError for what cannot be read."""
    options: Obj = {"container": _text(query, "container"), "stream": _text(query, "stream") or "All"}
    for name in ("follow", "previous", "timestamps", "insecureSkipTLSVerifyBackend"):
        options[name] = is_true(query, name)
    for name in ("sinceSeconds", "tailLines", "limitBytes"):
        if name in query:
            options[name] = _integer(query[name][0])
    since = _text(query, "sinceTime")
    if since:
        try:
            options["sinceTime"] = times.canonical(since)
        except ValueError as problem:
            raise errors.bad_request(str(problem)) from None
    return options


def check_log(options: Obj) -> Iterator[FieldError]:
    tail = options.get("tailLines")
    if tail is not None and tail < 0:
        yield invalid("tailLines", tail, "must be greater than or equal to 0")
    limit = options.get("limitBytes")
    if limit is not None and limit < 1:
        yield invalid("limitBytes", limit, "must be greater than 0")
    since = options.get("sinceSeconds")
    if since is not None and "sinceTime" in options:
        yield forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified")
    elif since is not None and since < 1:
        yield invalid("sinceSeconds", since, "must be greater than 0")
    stream = options["stream"]
    if stream not in LOG_STREAMS:
        yield not_supported("stream", stream, LOG_STREAMS)
    if stream != "All" and tail is not None:
        yield forbidden("", "`tailLines` and specific `stream` are mutually exclusive for now")


def log_query(options: Obj) -> str:
    """The query for the node, in the order of names."""
    told: dict[str, Any] = {}
    for name in ("follow", "previous", "timestamps"):
        if options[name]:
            told[name] = "true"
    for name in ("sinceSeconds", "sinceTime", "tailLines", "limitBytes", "stream"):
        if name in options:
            told[name] = options[name]
    return urlencode(sorted(told.items()))


def for_streams(query: Query) -> Obj:
    """PodExecOptions and PodAttachOptions."""
    options: Obj = {name: is_true(query, name) for name in _TO_THE_NODE}
    options["container"] = _text(query, "container")
    options["command"] = list(query.get("command", ()))
    return options


def streams_query(options: Obj, *, command: bool) -> str:
    told = [(name, "1") for ours, name in _TO_THE_NODE.items() if options[ours]]
    if command:
        told += (("command", each) for each in options["command"])
    return urlencode(sorted(told, key=lambda pair: pair[0]))


def for_ports(query: Query) -> Obj:
    """PodPortForwardOptions."""
    ports = []
    for given in query.get("ports", ()):
        for text in given.split(","):
            if not (text.isascii() and text.isdecimal()):
                raise errors.bad_request(f'cannot convert to []int32: strconv.ParseUint: parsing "{text}": invalid syntax')
            if int(text) > 65535:
                raise errors.bad_request(f'cannot convert to []int32: strconv.ParseUint: parsing "{text}": value out of range')
            ports.append(int(text))
    return {"ports": ports}


def ports_query(options: Obj) -> str:
    ports = options["ports"]
    return urlencode({"port": ",".join(map(str, ports))}) if ports else ""


def _text(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _integer(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdecimal()):
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    value = int(text)
    if not -_INT64 <= value < _INT64:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return value
