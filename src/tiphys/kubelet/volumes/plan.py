"""Where a pod's volumes are on this node, and how a container sees them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from tiphys.kubelet.pods.environment import CannotMake, expand, names_in
from tiphys.machinery.tree import Obj

# The folders are called as upstream calls them: people look for them there.
_KINDS = {
    "emptyDir": "empty-dir",
    "configMap": "configmap",
    "secret": "secret",
    "projected": "projected",
    "downwardAPI": "downward-api",
    "image": "image",
}
_READ_ONLY = ("configMap", "secret", "projected", "downwardAPI", "image")
SUPPORTED = (*_KINDS, "hostPath")
_PROPAGATION = {"None": 0, "HostToContainer": 1, "Bidirectional": 2}


@dataclass(frozen=True, slots=True)
class PodFolder:
    """The folder of one pod."""

    path: PurePath

    def volume(self, volume: Obj) -> PurePath:
        if volume.get("hostPath") is not None:
            return PurePath(volume["hostPath"]["path"])
        kind = kind_of(volume)
        return self.path / "volumes" / f"kubernetes.io~{_KINDS[kind]}" / str(volume["name"])

    def part(self, container: str, volume: PurePath, index: int) -> PurePath:
        """Where a part of a volume is mounted for a container."""
        return self.path / "volume-subpaths" / volume.name / container / str(index)

    @property
    def hosts(self) -> PurePath:
        return self.path / "etc-hosts"

    def message(self, container: str, attempt: int) -> PurePath:
        """The file behind a container's termination message."""
        return self.path / "containers" / container / str(attempt)


def kind_of(volume: Obj) -> str:
    for kind in SUPPORTED:
        if volume.get(kind) is not None:
            return kind
    named = next((key for key in volume if key != "name"), "")
    if not named:
        return "emptyDir"
    raise CannotMake(f'volume "{volume["name"]}": no volume plugin matched: {named}')


@dataclass(frozen=True, slots=True)
class SubPath:
    """A part of a volume; the host has to make it, and to check that it does not lead out of the volume."""

    volume: PurePath
    part: str


def mounts(pod: Obj, container: Obj, folder: PodFolder, attempt: int, environment: Mapping[str, str]) -> list[Obj]:
    """For the runtime; what is a part of a volume has a `sub_path` (a SubPath) in the place of its host path."""
    volumes = {each["name"]: each for each in pod["spec"].get("volumes") or ()}
    made: list[Obj] = []
    for each in container.get("volumeMounts") or ():
        volume = volumes[each["name"]]
        _check_recursive(each)
        mount: Obj = {
            "container_path": _absolute(each["mountPath"]),
            "host_path": str(folder.volume(volume)),
            "readonly": bool(each.get("readOnly")) or kind_of(volume) in _READ_ONLY,
            "propagation": _PROPAGATION[each.get("mountPropagation") or "None"],
        }
        part = _part(each, environment)
        if part:
            mount["sub_path"] = SubPath(folder.volume(volume), part)
        made.append(mount)
    taken = {each["container_path"] for each in made}
    if "/etc/hosts" not in taken:
        made.append(_file("/etc/hosts", folder.hosts))
    message = container.get("terminationMessagePath")
    if message and message not in taken:
        made.append(_file(message, folder.message(container["name"], attempt)))
    return made


def _check_recursive(mount: Obj) -> None:
    """What is mounted below the volume stays writable: no runtime that we speak to says that it can do more.

    https://kubernetes.io/docs/concepts/storage/volumes/#recursive-read-only-mounts
    """
    wish, name = mount.get("recursiveReadOnly") or "Disabled", mount["name"]
    if wish == "Disabled":
        return
    asked = f'volume "{name}" requested recursive read-only mode, but it is not'
    if not mount.get("readOnly"):
        raise CannotMake(f"{asked} read-only")
    propagation = mount.get("mountPropagation") or "None"
    if propagation != "None":
        raise CannotMake(f'{asked} compatible with propagation "{propagation}"')
    if wish == "Enabled":
        raise CannotMake(f"{asked} supported by the runtime")


def _file(inside: str, outside: PurePath) -> Obj:
    return {"container_path": inside, "host_path": str(outside), "readonly": False, "propagation": 0}


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


def _part(mount: Obj, environment: Mapping[str, str]) -> str:
    """Below the volume; empty: all of it. What variables may lead to is known only now (kubelet_pods.go, makeMounts)."""
    part: str = mount.get("subPath") or ""
    if expression := mount.get("subPathExpr"):
        if missing := sorted(name for name in names_in(expression) if not environment.get(name)):
            raise CannotMake(f"missing value for {', '.join(missing)}")
        part = expand(expression, environment)
    if part.startswith("/"):
        raise CannotMake(f"error SubPath `{part}` must not be an absolute path")
    if ".." in part.split("/"):
        raise CannotMake(f"unable to provision SubPath `{part}`: must not contain '..'")
    return part


def hosts_file(pod: Obj, addresses: tuple[str, ...], hostname: str, domain: str, of_node: str = "") -> str:
    """pkg/kubelet/kubelet_pods.go, managedHostsFileContent; `of_node`: the machine's own, for pods in its network."""
    if pod["spec"].get("hostNetwork"):
        return "# Kubernetes-managed hosts file (host network).\n" + of_node + _aliases(pod)
    lines = [
        "# Kubernetes-managed hosts file.",
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback",
        "fe00::\tip6-localnet",
        "fe00::\tip6-mcastprefix",
        "fe00::1\tip6-allnodes",
        "fe00::2\tip6-allrouters",
    ]
    names = f"{hostname}.{domain}\t{hostname}" if domain else hostname
    lines += [f"{address}\t{names}" for address in addresses]
    return "\n".join(lines) + "\n" + _aliases(pod)


def _aliases(pod: Obj) -> str:
    aliases = pod["spec"].get("hostAliases") or ()
    lines = ["\t".join([each["ip"], *(each.get("hostnames") or ())]) for each in aliases]
    return "\n".join(["", "# Entries added by HostAliases.", *lines, ""]) if lines else ""
