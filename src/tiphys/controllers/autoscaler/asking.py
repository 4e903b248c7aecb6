"""What an autoscaler asks the server, and tells it: scales and figures. Refusals are answers, too."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiphys.api.kind import Kind
from tiphys.client.interface import Client
from tiphys.controllers.autoscaler.metrics import Answer, Question
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

TRIES = 5
"""As often a new scale is written while somebody else writes, too."""

_Trouble = (ApiError, ConnectionError, TimeoutError)


@dataclass(frozen=True, slots=True)
class Scaled:
    """The scale of a target, or why there is none."""

    autoscaler: Obj
    """As it was when that was asked; so it goes on until its status is written."""
    kind: Kind
    scale: Obj
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    step: Any
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Rescaled:
    step: Any
    problem: str = ""


async def scale(client: Client, arguments: Mapping[str, Any]) -> Scaled:
    autoscaler, kind = arguments["autoscaler"], arguments["kind"]
    name, namespace = autoscaler["spec"]["scaleTargetRef"]["name"], autoscaler["metadata"]["namespace"]
    try:
        return Scaled(autoscaler, kind, await client.get(kind, name, namespace, subresource="scale"))
    except _Trouble as why:
        return Scaled(autoscaler, kind, {}, str(why))


async def measure(client: Client, arguments: Mapping[str, Any]) -> Measured:
    questions = arguments["questions"]
    return Measured(arguments["step"], tuple([await _ask(client, each) for each in questions]))


async def _ask(client: Client, question: Question | str) -> Answer:
    if isinstance(question, str):
        return Answer(problem=question)
    params = dict(question.params)
    for kind in question.kinds:
        try:
            if question.name:
                found = await client.get(
                    kind, question.name, question.namespace, subresource=question.subresource, params=params
                )
                return Answer(found.get("items") or ())
            return Answer((await client.list(kind, question.namespace, params=params)).items)
        except ApiError as refused:
            if not _is_not_served(refused):
                return Answer(problem=str(refused))
        except (ConnectionError, TimeoutError) as why:
            return Answer(problem=str(why))
    last = question.kinds[-1]
    if len(question.kinds) > 1:
        return Answer(problem=f"no {question.api} ({last.group}) registered")
    return Answer(problem=f"the server could not find the requested resource (get {last.plural}.{last.group})")


def _is_not_served(refused: ApiError) -> bool:
    """The path as such is unknown, not what it names."""
    return refused.code == 404 and (refused.details is None or not refused.details.name)


async def rescale(client: Client, arguments: Mapping[str, Any]) -> Rescaled:
    step, kind, wanted, found = (arguments[name] for name in ("step", "kind", "replicas", "scale"))
    metadata = found["metadata"]
    for left in reversed(range(TRIES)):
        try:
            await client.update(kind, {**found, "spec": {**(found.get("spec") or {}), "replicas": wanted}}, subresource="scale")
            return Rescaled(step)
        except _Trouble as why:
            if not left or not isinstance(why, ApiError) or why.reason != "Conflict":
                return Rescaled(step, str(why))
        try:
            found = await client.get(kind, metadata["name"], metadata["namespace"], subresource="scale")
        except _Trouble as why:
            return Rescaled(step, str(why))
    raise AssertionError("the last try returns")
