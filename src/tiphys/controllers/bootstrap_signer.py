"""Bootstrap signer: signs kube-public/cluster-info with every token that may, so that a node that knows nothing but a token can
tell the cluster's own kubeconfig from somebody else's.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from tiphys.api import bootstrap_tokens
from tiphys.api.bootstrap_tokens import CLUSTER_INFO, CLUSTER_INFO_NAMESPACE, KUBECONFIG_KEY, SIGNATURE_PREFIX
from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.secrets import SECRETS
from tiphys.controllers.controller import Base, Caches, Watch, metadata_only
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Plan, Update
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

_KEY = f"{CLUSTER_INFO_NAMESPACE}/{CLUSTER_INFO}"


@dataclass(frozen=True, slots=True)
class World:
    cluster_info: Obj
    tokens: tuple[Obj, ...]
    now: float


def _if_cluster_info(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    obj = new if new is not None else old
    return (_KEY,) if obj is not None and meta.key(obj) == _KEY else ()


def _if_token(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    return (_KEY,) if any(each is not None and bootstrap_tokens.is_token(each) for each in (old, new)) else ()


def keep_cluster_info(config_map: Obj) -> Obj:
    return config_map if meta.key(config_map) == _KEY else metadata_only(config_map)


def keep_token(secret: Obj) -> Obj:
    return secret if bootstrap_tokens.is_token(secret) else metadata_only(secret)


def token_index(secret: Obj) -> Iterable[str]:
    return ("",) if bootstrap_tokens.is_token(secret) else ()


WATCH_TOKENS = Watch(SECRETS, _if_token, {"bootstrap-token": token_index}, keep=keep_token)


class BootstrapSigner(Base):
    name = "bootstrap-signer-controller"
    component = "bootstrap-signer"
    watches = (Watch(CONFIG_MAPS, _if_cluster_info, keep=keep_cluster_info), WATCH_TOKENS)

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        cluster_info = caches[CONFIG_MAPS].get(key)
        if cluster_info is None:
            return None
        return World(cluster_info, tuple(caches[SECRETS].by("bootstrap-token", "")), now)

    @staticmethod
    def reconcile(world: World) -> Plan:
        data: dict[str, str] = world.cluster_info.get("data") or {}
        content = data.get(KUBECONFIG_KEY)
        if content is None:
            return NOTHING
        wanted = {key: value for key, value in data.items() if not key.startswith(SIGNATURE_PREFIX)}
        ends: list[float] = []
        for secret in world.tokens:
            token = bootstrap_tokens.signing_token(secret, world.now)
            if token is None:
                continue
            wanted[SIGNATURE_PREFIX + token[0]] = signature(content, *token)
            left = bootstrap_tokens.seconds_left(secret, world.now)
            if left is not None:
                ends.append(left)
        again_in = min(ends, default=None)
        if wanted == data:
            return Plan(again_in=again_in)
        return Plan((Update(CONFIG_MAPS, {**world.cluster_info, "data": wanted}, tolerate=NOT_FOUND),), again_in)


def signature(content: str, token_id: str, token_secret: str) -> str:
    """A JSON web signature without its content (RFC 7515, appendix F)."""
    header = _base64(orjson.dumps({"alg": "HS256", "kid": token_id}))
    signed = hmac.digest(token_secret.encode(), f"{header}.{_base64(content.encode())}".encode(), hashlib.sha256)
    return f"{header}..{_base64(signed)}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
