"""A configuration from the text of a file: every field known, every type right."""

from typing import Any

from tiphys.machinery import duration
from tiphys.machinery.decode import parse, strict_problem
from tiphys.machinery.decode.parsing import YAML
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj
from tiphys.scheduler.config.fields import ARGUMENTS, FIELDS, POLICY, Fields

GROUP_VERSION, KIND = "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"
_TYPES: dict[Any, tuple[type, ...]] = {str: (str,), int: (int,), bool: (bool,), float: (int, float), dict: (dict,)}


class BadConfiguration(ValueError):
    """What is wrong with it, in upstream's words where it has any."""


def read(text: bytes) -> Obj:
    """Of kind KubeSchedulerConfiguration, or Policy; JSON is YAML too."""
    try:
        parsed = parse(text, YAML, find_duplicates=True)
    except ApiError as problem:
        raise BadConfiguration(str(problem)) from None
    tree = parsed.tree
    if not isinstance(tree, dict):
        raise BadConfiguration("the configuration is not an object")
    kind, version = tree.get("kind", ""), tree.get("apiVersion", "")
    if kind == "Policy" and version in ("v1", "kubescheduler.config.k8s.io/v1", ""):
        fields = POLICY
    elif (kind, version) == (KIND, GROUP_VERSION):
        fields = FIELDS
    else:
        raise BadConfiguration(f'no kind "{kind}" is registered for version "{version}"')
    unknown: list[str] = []
    _check({name: value for name, value in tree.items() if name not in ("kind", "apiVersion")}, fields, "", unknown)
    if unknown or parsed.duplicates:
        raise BadConfiguration(strict_problem(unknown, list(parsed.duplicates)))
    for at, profile in enumerate(tree.get("profiles") or ()):
        _check_arguments(profile, at)
    return tree


def _check_arguments(profile: Obj, at: int) -> None:
    for number, config in enumerate(profile.get("pluginConfig") or ()):
        name, fields = config.get("name", ""), ARGUMENTS.get(config.get("name", ""))
        given = {key: value for key, value in (config.get("args") or {}).items() if key not in ("kind", "apiVersion")}
        if fields is None:
            continue
        unknown: list[str] = []
        _check(given, fields, "", unknown)
        if unknown:
            where = f"decoding .profiles[{at}].pluginConfig[{number}]"
            raise BadConfiguration(f"{where}: {strict_problem(unknown, [])} (in the arguments of {name})")


def _check(given: Obj, fields: Fields, above: str, unknown: list[str]) -> None:
    for name, value in given.items():
        path = f"{above}{name}"
        if name not in fields:
            unknown.append(path)
        elif value is not None:
            _check_value(value, fields[name], path, unknown)


def _check_value(value: Any, wanted: Any, path: str, unknown: list[str]) -> None:
    if isinstance(wanted, tuple):
        if not isinstance(value, list):
            raise BadConfiguration(f"{path} is a list")
        for at, each in enumerate(value):
            _check_value(each, wanted[0], f"{path}[{at}]", unknown)
    elif isinstance(wanted, dict):
        if not isinstance(value, dict):
            raise BadConfiguration(f"{path} is an object")
        _check(value, wanted, f"{path}.", unknown)
    elif wanted == "duration":
        _check_duration(value, path)
    elif not isinstance(value, _TYPES[wanted]) or (wanted is not bool and isinstance(value, bool)):
        raise BadConfiguration(f"{path} is of another type than {value!r}")


def _check_duration(value: Any, path: str) -> None:
    if not isinstance(value, str):
        raise BadConfiguration(f"{path} is a length of time like 15s, not {value!r}")
    try:
        duration.parse(value)
    except ValueError as problem:
        raise BadConfiguration(f"{path}: {problem}") from None
