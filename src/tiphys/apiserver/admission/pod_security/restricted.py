"""The checks of the level `restricted`, beyond those of `baseline`: what hardening asks for must be there."""

from tiphys.apiserver.admission.pod_security import baseline
from tiphys.apiserver.admission.pod_security.baseline import Check
from tiphys.apiserver.admission.pod_security.wording import Refusal, containers, named, plural, quoted, setters
from tiphys.machinery.tree import Obj

_ALLOWED_VOLUMES = frozenset(
    ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret")
)
_KNOWN_VOLUMES = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "portworxVolume",
    "photonPersistentDisk",
    "scaleIO",
    "storageos",
)


def unless_windows(check: Check) -> Check:
    return lambda metadata, spec: None if (spec.get("os") or {}).get("name") == "windows" else check(metadata, spec)


def privilege_escalation(_metadata: Obj, spec: Obj) -> Refusal | None:
    bad = [container["name"] for container, context in containers(spec) if context.get("allowPrivilegeEscalation") is not False]
    if not bad:
        return None
    told = f"{named(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Refusal("allowPrivilegeEscalation != false", told)


def capabilities(_metadata: Obj, spec: Obj) -> Refusal | None:
    keeping: list[str] = []
    adding: list[str] = []
    added: set[str] = set()
    for container, context in containers(spec):
        changes = context.get("capabilities") or {}
        if "ALL" not in (changes.get("drop") or ()):
            keeping.append(container["name"])
        extra = set(changes.get("add") or ()) - {"NET_BIND_SERVICE"}
        if extra:
            adding.append(container["name"])
            added |= extra
    told = [f'{named(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    if adding:
        told.append(f"{named(adding)} must not include {quoted(sorted(added))} in securityContext.capabilities.add")
    return Refusal("unrestricted capabilities", "; ".join(told)) if told else None


def volumes(_metadata: Obj, spec: Obj) -> Refusal | None:
    bad: list[str] = []
    kinds: set[str] = set()
    for volume in spec.get("volumes") or ():
        if _ALLOWED_VOLUMES.isdisjoint(volume):
            bad.append(volume["name"])
            kinds.add(next((kind for kind in _KNOWN_VOLUMES if volume.get(kind) is not None), "unknown"))
    if not bad:
        return None
    use = plural("uses", "use", len(bad))
    word = plural("restricted volume type", "restricted volume types", len(kinds))
    told = f"{plural('volume', 'volumes', len(bad))} {quoted(bad)} {use} {word} {quoted(sorted(kinds))}"
    return Refusal("restricted volume types", told)


def run_as_non_root(_metadata: Obj, spec: Obj) -> Refusal | None:
    of_pod = (spec.get("securityContext") or {}).get("runAsNonRoot")
    chosen = [(container["name"], context.get("runAsNonRoot")) for container, context in containers(spec)]
    said = setters(of_pod is False, [name for name, value in chosen if value is False])
    if said:
        return Refusal("runAsNonRoot != true", f"{said} must not set securityContext.runAsNonRoot=false")
    silent = [name for name, value in chosen if value is None]
    if silent and not of_pod:
        return Refusal("runAsNonRoot != true", f"pod or {named(silent)} must set securityContext.runAsNonRoot=true")
    return None


def run_as_user(_metadata: Obj, spec: Obj) -> Refusal | None:
    bad = [container["name"] for container, context in containers(spec) if context.get("runAsUser") == 0]
    said = setters((spec.get("securityContext") or {}).get("runAsUser") == 0, bad)
    return Refusal("runAsUser=0", f"{said} must not set runAsUser=0") if said else None


def seccomp(metadata: Obj, spec: Obj) -> Refusal | None:
    refusal = baseline.seccomp(metadata, spec)
    if refusal is not None or (spec.get("securityContext") or {}).get("seccompProfile") is not None:
        return refusal
    silent = [container["name"] for container, context in containers(spec) if context.get("seccompProfile") is None]
    if not silent:
        return None
    told = f'pod or {named(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Refusal("seccompProfile", told)
