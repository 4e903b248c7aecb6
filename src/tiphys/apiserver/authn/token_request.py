"""serviceaccounts/token: what is asked for, whether it may be had, and the answer.

The edge reads the account and what the token is to be bound to (`bound_to` tells which), and hands both in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tiphys.api.authentication.tokenrequests import validate
from tiphys.apiserver.authn.service_account import Bound, Issuer, bound
from tiphys.machinery import errors, times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.fields import invalid, quote
from tiphys.machinery.tree import Obj, get

WARN_ONLY_SECONDS = 60 * 60 + 7
"""Asked for by the pods' own volumes: such a token lives longer than it says, while users get used to short ones."""
EXTENDED_SECONDS = 365 * 24 * 60 * 60

_GROUP = "authentication.k8s.io"
_KIND = "TokenRequest"
_PLURALS = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}


@dataclass(frozen=True, slots=True)
class Settings:
    audiences: tuple[str, ...]
    """Of this server."""
    max_seconds: int = 0
    """--service-account-max-token-expiration; 0: none."""
    extend: bool = True
    """--service-account-extend-token-expiration."""


@dataclass(slots=True)
class Objects:
    """What the token is bound to, as the edge has read it; `node` is also read for a pod that has one."""

    pod: Obj | None = None
    node: Obj | None = None
    secret: Obj | None = None


@dataclass(slots=True)
class Granted:
    answer: Obj
    warnings: list[str] = field(default_factory=list)


def bound_to(request: Obj) -> tuple[str, str] | None:
    """Plural and name of the object that the request names. ApiError for one of another kind."""
    reference = get(request, ("spec", "boundObjectRef"))
    if reference is None:
        return None
    kind, group, version = reference.get("kind", ""), *_group_version(reference.get("apiVersion", ""))
    if group or kind not in _PLURALS:
        told = f"{group}/{version}, Kind={kind}"
        raise errors.bad_request(f"cannot bind token to object of type {told}")
    return _PLURALS[kind], reference.get("name", "")


def _group_version(api_version: str) -> tuple[str, str]:
    group, slash, version = api_version.partition("/")
    return (group, version) if slash else ("", api_version)


def check(request: Obj, account: Obj) -> None:
    """Raises what is wrong with the request itself. It has been given its defaults."""
    metadata, owner = request.get("metadata") or {}, account["metadata"]
    for name in ("name", "namespace"):
        said = metadata.get(name)
        if said and said != owner[name]:
            told = f"must match the service account {name} if specified"
            raise errors.invalid(_GROUP, _KIND, owner["name"], [invalid(f"metadata.{name}", said, told)])
    uid = metadata.get("uid")
    if uid and uid != owner["uid"]:
        told = f"the UID in the token request ({uid}) does not match the UID of the service account ({owner['uid']})"
        raise errors.conflict(_GROUP, _KIND, owner["name"], told)
    problems = list(validate(request))
    if problems:
        raise errors.invalid(_GROUP, _KIND, "", problems)


def grant(
    request: Obj, account: Obj, objects: Objects, issuer: Issuer, settings: Settings, now: float, token_id: str
) -> Granted:
    """The answer to a request that has passed `check`. ApiError where the bound object does not fit."""
    spec, owner = request["spec"], account["metadata"]
    _check_objects(spec.get("boundObjectRef"), owner["name"], objects)
    audiences: Sequence[str] = spec.get("audiences") or settings.audiences
    seconds, warnings = spec["expirationSeconds"], []
    if 0 < settings.max_seconds < seconds:
        warnings.append(f"requested expiration of {seconds} seconds shortened to {settings.max_seconds} seconds")
        seconds = settings.max_seconds
    lives, warn_after = seconds, 0
    own = set(audiences) <= set(settings.audiences)
    if settings.extend and objects.pod is not None and seconds == WARN_ONLY_SECONDS and own:
        lives, warn_after = EXTENDED_SECONDS, seconds
    token = issuer.issue(
        account,
        audiences=audiences,
        seconds=lives,
        now=now,
        token_id=token_id,
        pod=_bound(objects.pod),
        node=_node(objects),
        secret=_bound(objects.secret),
        warn_after=warn_after,
    )
    metadata = {**(request.get("metadata") or {}), **{key: owner[key] for key in ("name", "namespace", "uid")}}
    metadata["creationTimestamp"] = times.rfc3339(now)
    return Granted(
        {
            "kind": _KIND,
            "apiVersion": f"{_GROUP}/v1",
            "metadata": metadata,
            "spec": {**spec, "audiences": list(audiences), "expirationSeconds": seconds},
            "status": {"token": token, "expirationTimestamp": times.rfc3339(now + seconds)},
        },
        warnings,
    )


def _check_objects(reference: Obj | None, account: str, objects: Objects) -> None:
    if reference is None:
        return
    if objects.pod is not None and get(objects.pod, ("spec", "serviceAccountName"), "") != account:
        told = f"cannot bind token for serviceaccount {quote(account)} to pod running with different serviceaccount name."
        raise errors.bad_request(told)
    target = objects.pod or objects.secret or objects.node
    said = reference.get("uid")
    if said and said != get(target, ("metadata", "uid"), ""):
        raise _other_uid(reference, said)


def _other_uid(reference: Obj, said: str) -> ApiError:
    told = (
        f"the UID in the bound object reference ({said}) does not match the UID in record. "
        "The object might have been deleted and then recreated"
    )
    group, _ = _group_version(reference.get("apiVersion", ""))
    return errors.conflict(group, reference.get("kind", ""), reference.get("name", ""), told)


def _bound(obj: Obj | None) -> Bound | None:
    return None if obj is None else bound(obj)


def _node(objects: Objects) -> Bound | None:
    """A node that the pod names and that is gone is told by its name alone."""
    if objects.node is not None:
        return bound(objects.node)
    name = get(objects.pod, ("spec", "nodeName")) if objects.pod is not None else None
    return Bound(name) if name else None
