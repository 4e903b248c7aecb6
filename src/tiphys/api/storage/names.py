"""Names and parameters of storage drivers."""

from collections.abc import Iterator, Mapping

from tiphys.machinery.fields import FieldError, invalid, required, too_long
from tiphys.machinery.validators import dns1123_subdomain, qualified_name, size

LONGEST_DRIVER_NAME = 63
MOST_PARAMETERS = 512
LARGEST_PARAMETERS = 256 * 1024


def validate_driver(name: str, at: str) -> Iterator[FieldError]:
    if not name:
        yield required(at)
        return
    if size(name) > LONGEST_DRIVER_NAME:
        yield too_long(at, LONGEST_DRIVER_NAME)
    for problem in dns1123_subdomain(name.lower()):
        yield invalid(at, name, problem)


def validate_provisioner(name: str, at: str) -> Iterator[FieldError]:
    if not name:
        yield required(at)
        return
    for problem in qualified_name(name.lower()):
        yield invalid(at, name.lower(), problem)


def validate_parameters(parameters: Mapping[str, str] | None, at: str, *, may_be_empty: bool) -> Iterator[FieldError]:
    parameters = parameters or {}
    if len(parameters) > MOST_PARAMETERS:
        yield too_long(at, MOST_PARAMETERS)
        return
    if "" in parameters:
        yield invalid(at, "", "field can not be empty.")
    if sum(size(key) + size(value) for key, value in parameters.items()) > LARGEST_PARAMETERS:
        yield too_long(at, LARGEST_PARAMETERS)
    if not may_be_empty and not parameters:
        yield required(at, "must contain at least one key/value pair")
