"""Tokens by which nodes join: `id.secret`, kept in Secrets of kube-system. Whoever reads such a Secret reads it here."""

import base64
import binascii
import re

from tiphys.machinery import times
from tiphys.machinery.tree import Obj, get

SECRET_TYPE = "bootstrap.kubernetes.io/token"
NAMESPACE = "kube-system"
DEFAULT_GROUP = "system:bootstrappers"

TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_SECRET_NAME = re.compile(r"bootstrap-token-([a-z0-9]{6})")

# Where a node that knows a token finds out whom it talks to.
CLUSTER_INFO_NAMESPACE = "kube-public"
CLUSTER_INFO = "cluster-info"
KUBECONFIG_KEY = "kubeconfig"
SIGNATURE_PREFIX = "jws-kubeconfig-"


def is_token(secret: Obj) -> bool:
    return secret.get("type") == SECRET_TYPE and secret["metadata"].get("namespace") == NAMESPACE


def data(secret: Obj, key: str) -> str:
    try:
        return base64.b64decode(get(secret, ("data", key), "")).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def seconds_left(secret: Obj, now: float) -> float | None:
    """Until the token expires; zero where it has, or where nobody can read when; None: never."""
    expiration = data(secret, "expiration")
    if not expiration:
        return None
    try:
        return max(0.0, times.parse(expiration) - now)
    except ValueError:
        return 0.0


def signing_token(secret: Obj, now: float) -> tuple[str, str] | None:
    """Identity and secret of a token that may vouch for the cluster."""
    named = _SECRET_NAME.fullmatch(secret["metadata"]["name"])
    token_id, token_secret = data(secret, "token-id"), data(secret, "token-secret")
    if named is None or named[1] != token_id or not token_secret or seconds_left(secret, now) == 0:
        return None
    return (token_id, token_secret) if data(secret, "usage-bootstrap-signing") == "true" else None
