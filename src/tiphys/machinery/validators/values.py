"""Checks of one value: each returns upstream's messages, none if the value is good."""

import re
from collections.abc import Callable

NOT_EMPTY = "must be non-empty"

DNS1123_LABEL_MAX = 63
DNS1123_SUBDOMAIN_MAX = 253
LABEL_VALUE_MAX = 63

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_UNDERSCORE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORE = rf"{_LABEL_UNDERSCORE}(\.{_LABEL_UNDERSCORE})*"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_KEY})?"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_PERCENT = "[0-9]+%"
_HTTP_HEADER = "[-A-Za-z0-9]+"
_ENV_NAME = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"

_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_SUBDOMAIN_ANY_CASE_RE = re.compile(_SUBDOMAIN, re.IGNORECASE | re.ASCII)
_SUBDOMAIN_UNDERSCORE_RE = re.compile(_SUBDOMAIN_UNDERSCORE)
_WILDCARD_RE = re.compile(_WILDCARD)
_DNS1035_RE = re.compile(_DNS1035)
_KEY_RE = re.compile(_KEY)
_LABEL_VALUE_RE = re.compile(_LABEL_VALUE)
_C_IDENTIFIER_RE = re.compile(_C_IDENTIFIER)
_PERCENT_RE = re.compile(_PERCENT)
_HTTP_HEADER_RE = re.compile(_HTTP_HEADER)
_ENV_NAME_RE = re.compile(_ENV_NAME)
_CONFIG_KEY_RE = re.compile(_CONFIG_KEY)
_INTEGER_RE = re.compile("0|-?[1-9][0-9]*")
_PORT_NAME_RE = re.compile("[-a-z0-9]+")
_LETTER_RE = re.compile("[a-z]")

_LABEL_TOLD = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_TOLD = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_KEY_TOLD = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"


def size(text: str) -> int:
    """Lengths are limited in bytes."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def regex_error(message: str, pattern: str, *examples: str) -> str:
    """Upstream's wording for a value that does not match."""
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    told = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {told}regex used for validation is '{pattern}')"


def max_length(limit: int) -> str:
    return f"must be no more than {limit} characters"


def max_bytes(limit: int) -> str:
    """The other wording for the same; labels use it."""
    return f"must be no more than {limit} bytes"


def in_range(value: int, low: int, high: int) -> list[str]:
    return [] if low <= value <= high else [f"must be between {low} and {high}, inclusive"]


def dns1123_label(value: str) -> list[str]:
    problems = []
    if size(value) > DNS1123_LABEL_MAX:
        problems.append(max_length(DNS1123_LABEL_MAX))
    if not _LABEL_RE.fullmatch(value):
        if _SUBDOMAIN_RE.fullmatch(value):
            problems.append("must not contain dots")
        else:
            problems.append(regex_error(_LABEL_TOLD, _LABEL, "my-name", "123-abc"))
    return problems


def dns1123_subdomain(value: str) -> list[str]:
    return _subdomain(value, max_length)


def _subdomain(value: str, too_long_told: Callable[[int], str]) -> list[str]:
    problems = []
    if size(value) > DNS1123_SUBDOMAIN_MAX:
        problems.append(too_long_told(DNS1123_SUBDOMAIN_MAX))
    if not _SUBDOMAIN_RE.fullmatch(value):
        problems.append(regex_error(_SUBDOMAIN_TOLD, _SUBDOMAIN, "example.com"))
    return problems


def dns1123_subdomain_any_case(value: str) -> list[str]:
    problems = []
    if size(value) > DNS1123_SUBDOMAIN_MAX:
        problems.append(max_bytes(DNS1123_SUBDOMAIN_MAX))
    if not _SUBDOMAIN_ANY_CASE_RE.fullmatch(value):
        told = (
            "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        problems.append(regex_error(told, _SUBDOMAIN, "Example.com"))
    return problems


def dns1123_subdomain_with_underscore(value: str) -> list[str]:
    problems = []
    if size(value) > DNS1123_SUBDOMAIN_MAX:
        problems.append(max_length(DNS1123_SUBDOMAIN_MAX))
    if not _SUBDOMAIN_UNDERSCORE_RE.fullmatch(value):
        told = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        problems.append(regex_error(told, _SUBDOMAIN_UNDERSCORE, "example.com"))
    return problems


def wildcard_dns1123_subdomain(value: str) -> list[str]:
    problems = []
    if size(value) > DNS1123_SUBDOMAIN_MAX:
        problems.append(max_length(DNS1123_SUBDOMAIN_MAX))
    if not _WILDCARD_RE.fullmatch(value):
        told = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
            "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
        )
        problems.append(regex_error(told, _WILDCARD, "*.example.com"))
    return problems


def dns1035_label(value: str) -> list[str]:
    problems = []
    if size(value) > DNS1123_LABEL_MAX:
        problems.append(max_length(DNS1123_LABEL_MAX))
    if not _DNS1035_RE.fullmatch(value):
        told = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
            "start with an alphabetic character, and end with an alphanumeric character"
        )
        problems.append(regex_error(told, _DNS1035, "my-name", "abc-123"))
    return problems


def qualified_name(value: str) -> list[str]:
    """A label key, resource name, taint key: `[prefix/]name`."""
    problems: list[str] = []
    parts = value.split("/")
    if len(parts) == 1:
        name = parts[0]
    elif len(parts) == 2:
        prefix, name = parts
        if not prefix:
            problems.append(f"prefix part {NOT_EMPTY}")
        else:
            problems.extend(f"prefix part {each}" for each in _subdomain(prefix, max_bytes))
    else:
        return [
            "a valid label key "
            + regex_error(_KEY_TOLD, _KEY, "MyName", "my.name", "123-abc")
            + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    if not name:
        problems.append(f"name part {NOT_EMPTY}")
    elif size(name) > DNS1123_LABEL_MAX:
        problems.append(f"name part {max_bytes(DNS1123_LABEL_MAX)}")
    if not _KEY_RE.fullmatch(name):
        problems.append("name part " + regex_error(_KEY_TOLD, _KEY, "MyName", "my.name", "123-abc"))
    return problems


def label_value(value: str) -> list[str]:
    problems = []
    if size(value) > LABEL_VALUE_MAX:
        problems.append(max_bytes(LABEL_VALUE_MAX))
    if not _LABEL_VALUE_RE.fullmatch(value):
        told = (
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
            "and must start and end with an alphanumeric character"
        )
        problems.append(regex_error(told, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return problems


def path_segment(value: str) -> list[str]:
    """Names that only must be usable in a URL (RBAC roles, for instance)."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> list[str]:
    return [f"may not contain '{bad}'" for bad in ("/", "%") if bad in value]


def c_identifier(value: str) -> list[str]:
    if _C_IDENTIFIER_RE.fullmatch(value):
        return []
    told = (
        "a valid C identifier must start with alphabetic character or '_', "
        "followed by a string of alphanumeric characters or '_'"
    )
    return [regex_error(told, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName")]


def decimal_integer(value: str) -> list[str]:
    if not value:
        return [NOT_EMPTY]
    return [] if _INTEGER_RE.fullmatch(value) else ["must be a valid decimal integer in canonical form"]


def port_number(value: int) -> list[str]:
    return in_range(value, 1, 65535)


def user_id(value: int) -> list[str]:
    """Group ids have the same range."""
    return in_range(value, 0, 2**31 - 1)


def port_name(value: str) -> list[str]:
    """An IANA service name."""
    problems = []
    if size(value) > 15:
        problems.append(max_length(15))
    if not _PORT_NAME_RE.fullmatch(value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _LETTER_RE.search(value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value and (value[0] == "-" or value[-1] == "-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def percent(value: str) -> list[str]:
    if _PERCENT_RE.fullmatch(value):
        return []
    return [regex_error("a valid percent string must be a numeric string followed by an ending '%'", _PERCENT, "1%", "93%")]


def http_header_name(value: str) -> list[str]:
    if _HTTP_HEADER_RE.fullmatch(value):
        return []
    return [regex_error("a valid HTTP header must consist of alphanumeric characters or '-'", _HTTP_HEADER, "X-Header-Name")]


def env_var_name(value: str) -> list[str]:
    """The strict form."""
    problems = []
    if not _ENV_NAME_RE.fullmatch(value):
        told = (
            "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
            "and must not start with a digit"
        )
        problems.append(regex_error(told, _ENV_NAME, "my.env-name", "MY_ENV.NAME", "MyEnvName1"))
    return problems + _dots(value)


def relaxed_env_var_name(value: str) -> list[str]:
    """What a container's environment allows."""
    if not value:
        return [f"environment variable name {NOT_EMPTY}"]
    if not value.isascii() or not value.isprintable() or "=" in value:
        return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
    return []


def config_map_key(value: str) -> list[str]:
    problems = []
    if size(value) > DNS1123_SUBDOMAIN_MAX:
        problems.append(max_length(DNS1123_SUBDOMAIN_MAX))
    if not _CONFIG_KEY_RE.fullmatch(value):
        told = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        problems.append(regex_error(told, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    return problems + _dots(value)


def _dots(value: str) -> list[str]:
    """Names that would lead out of a directory."""
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []
