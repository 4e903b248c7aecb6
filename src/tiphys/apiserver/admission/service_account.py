"""ServiceAccount: every pod runs as one, which must exist; its token is mounted unless somebody says no."""

from collections.abc import Callable, Iterator, Sequence

from tiphys.apiserver.admission.chain import CREATE_UPDATE, PODS, Attributes
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

DEFAULT = "default"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX = "kube-api-access-"
_SECRET_FIELDS = frozenset(
    ("secret", "secretRef", "secretKeyRef", "nodePublishSecretRef", "controllerExpandSecretRef", "controllerPublishSecretRef")
)
ENFORCE = "kubernetes.io/enforce-mountable-secrets"
MIRROR = "kubernetes.io/config.mirror"
TOKEN_SECONDS = 3607
"""An hour and a little: tells tokens of this kind from others, as upstream's does."""


class ServiceAccount:
    name = "ServiceAccount"
    operations = CREATE_UPDATE
    resources = PODS

    def __init__(self, lookup: Lookup, choose: Callable[[Sequence[str]], str]) -> None:
        self._lookup = lookup
        self._choose = choose

    async def admit(self, attributes: Attributes) -> None:
        pod = attributes.obj
        if attributes.operation != "CREATE" or pod is None or not attributes.concerns("", "pods"):
            return
        spec = pod["spec"]
        if _is_mirror(pod):
            _refuse_first(attributes, _mirror_problems(spec))
            return
        name = spec.get("serviceAccountName") or DEFAULT
        # serviceAccount is the old name of the field; both are stored.
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = await self._account(attributes, name)
        if _automounts(account, spec):
            self._mount_token(spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": each.get("name", "")} for each in account["imagePullSecrets"]]

    async def _account(self, attributes: Attributes, name: str) -> Obj:
        key = f"{attributes.namespace}/{name}"
        account = self._lookup.get("serviceaccounts", key) or await self._lookup.fresh("serviceaccounts", key)
        if account is None:
            why = f'error looking up service account {key}: serviceaccount "{name}" not found'
            raise attributes.forbidden(why)
        return account

    def _mount_token(self, spec: Obj) -> None:
        volumes = spec.get("volumes") or []
        present = next((each["name"] for each in volumes if each.get("name", "").startswith(VOLUME_PREFIX)), None)
        name = present or meta.generate_name(VOLUME_PREFIX, self._choose)
        mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
        needed = False
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
            mounts = container.get("volumeMounts") or []
            if all(each.get("mountPath") != MOUNT_PATH for each in mounts):
                container["volumeMounts"] = [*mounts, dict(mount)]
                needed = True
        if needed and present is None:
            spec["volumes"] = [*volumes, {"name": name, "projected": _token_volume()}]

    async def validate(self, attributes: Attributes) -> None:
        pod = attributes.obj
        if pod is None or attributes.kind.plural != "pods" or attributes.kind.group:
            return
        if attributes.operation == "CREATE" and not attributes.subresource:
            await self._validate_new(attributes, pod)
        elif attributes.subresource == "ephemeralcontainers":
            account = await self._account(attributes, pod["spec"].get("serviceAccountName") or DEFAULT)
            if _enforces(account):
                _refuse_first(
                    attributes, _unlisted_env(pod["spec"].get("ephemeralContainers", ()), account, "ephemeral container")
                )

    async def _validate_new(self, attributes: Attributes, pod: Obj) -> None:
        spec = pod["spec"]
        if _is_mirror(pod):
            _refuse_first(attributes, _mirror_problems(spec))
            return
        name = spec.get("serviceAccountName")
        if not name:
            where = f"{attributes.namespace}/{pod['metadata'].get('name', '')}"
            raise attributes.forbidden(f"no service account specified for pod {where}")
        account = await self._account(attributes, name)
        if _enforces(account):
            _refuse_first(attributes, _unlisted(spec, account))


def _is_mirror(pod: Obj) -> bool:
    return MIRROR in (pod["metadata"].get("annotations") or {})


def _automounts(account: Obj, spec: Obj) -> bool:
    wanted = spec.get("automountServiceAccountToken")
    if wanted is None:
        wanted = account.get("automountServiceAccountToken")
    return wanted is not False


def _enforces(account: Obj) -> bool:
    value = (account["metadata"].get("annotations") or {}).get(ENFORCE, "")
    return value in ("1", "t", "T", "true", "TRUE", "True")


def _refuse_first(attributes: Attributes, problems: Iterator[str]) -> None:
    problem = next(problems, None)
    if problem is not None:
        raise attributes.forbidden(problem)


def _mirror_problems(spec: Obj) -> Iterator[str]:
    if spec.get("serviceAccountName"):
        yield "a mirror pod may not reference service accounts"
    if any(_secret_names(spec)):
        yield "a mirror pod may not reference secrets"
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if "serviceAccountToken" in source:
                yield "a mirror pod may not use ServiceAccountToken volume projections"


def _secret_names(value: object) -> Iterator[str]:
    """Every secret that a pod spec mentions, in volumes (of whatever type), environment or pulls."""
    if isinstance(value, list):
        for each in value:
            yield from _secret_names(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key in _SECRET_FIELDS and isinstance(each, dict):
                yield str(each.get("secretName") or each.get("name") or "")
            elif key == "imagePullSecrets":
                yield from (str(secret.get("name", "")) for secret in each or ())
            else:
                yield from _secret_names(each)


def _unlisted(spec: Obj, account: Obj) -> Iterator[str]:
    """Secrets that the pod uses and its account does not list."""
    allowed, owner = _listed(account), account["metadata"]["name"]
    for volume in spec.get("volumes") or ():
        secret = (volume.get("secret") or {}).get("secretName")
        if secret is not None and secret not in allowed:
            told = f'volume with secret.secretName="{secret}" is not allowed because service account {owner} does not'
            yield f"{told} reference that secret"
    yield from _unlisted_env(spec.get("initContainers") or (), account, "init container")
    yield from _unlisted_env(spec.get("containers") or (), account, "container")
    pulls = {each.get("name") for each in account.get("imagePullSecrets") or ()}
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if secret.get("name") not in pulls:
            told = f'imagePullSecrets[{index}].name="{secret.get("name", "")}" is not allowed because service account {owner}'
            yield f"{told} does not reference that imagePullSecret"


def _listed(account: Obj) -> set[str]:
    return {each.get("name", "") for each in account.get("secrets") or ()}


def _unlisted_env(containers: list[Obj] | tuple[Obj, ...], account: Obj, word: str) -> Iterator[str]:
    allowed, owner = _listed(account), account["metadata"]["name"]
    refused = f"is not allowed because service account {owner} does not reference that secret"
    for container in containers:
        for variable in container.get("env") or ():
            secret = ((variable.get("valueFrom") or {}).get("secretKeyRef") or {}).get("name")
            if secret is not None and secret not in allowed:
                where = f'{word} {container["name"]} with envVar {variable["name"]} referencing secret.secretName="{secret}"'
                yield f"{where} {refused}"
        for source in container.get("envFrom") or ():
            secret = (source.get("secretRef") or {}).get("name")
            if secret is not None and secret not in allowed:
                yield f'{word} {container["name"]} with envFrom referencing secret.secretName="{secret}" {refused}'


def _token_volume() -> Obj:
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
                }
            },
        ],
        "defaultMode": 0o644,
    }
