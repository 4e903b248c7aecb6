"""ServiceAccount: who a pod is to the API server."""

from collections.abc import Iterator

from tiphys.api.kind import AGE, Kind, Strategy
from tiphys.machinery.tree import Obj

MOUNTABLE_SECRETS = "kubernetes.io/enforce-mountable-secrets"


def prepare(account: Obj) -> None:
    """Of a reference to a secret only the name counts."""
    secrets = account.get("secrets")
    if secrets:
        account["secrets"] = [{"name": each["name"]} if each.get("name") else {} for each in secrets]


def prepare_update(new: Obj, _: Obj) -> None:
    prepare(new)


def warnings(new: Obj, old: Obj | None) -> Iterator[str]:
    if MOUNTABLE_SECRETS in _annotations(new) and (old is None or MOUNTABLE_SECRETS not in _annotations(old)):
        yield (
            f"metadata.annotations[{MOUNTABLE_SECRETS}]: deprecated in v1.32+; "
            "prefer separate namespaces to isolate access to mounted secrets"
        )


def _annotations(account: Obj) -> Obj:
    return account.get("metadata", {}).get("annotations") or {}


SERVICE_ACCOUNTS = Kind(
    group="",
    version="v1",
    kind="ServiceAccount",
    plural="serviceaccounts",
    singular="serviceaccount",
    schema="io.k8s.api.core.v1.ServiceAccount",
    short=("sa",),
    prepare_create=prepare,
    prepare_update=prepare_update,
    warnings=warnings,
    strategy=Strategy(returns_deleted=True),
    columns=(AGE,),
    subresources=("token",),
)
