"""The checks of the level `baseline`: known ways out of a container are closed."""

from collections.abc import Callable, Iterator

from tiphys.apiserver.admission.pod_security.wording import Refusal, containers, named, plural, quoted, setters
from tiphys.machinery.fields import quote
from tiphys.machinery.tree import Obj

Check = Callable[[Obj, Obj], Refusal | None]
"""Of a pod's (or template's) metadata and spec."""

_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES = ("RuntimeDefault", "Localhost")
_CAPABILITIES = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)


def in_user_namespace(spec: Obj) -> bool:
    return spec.get("hostUsers") is False


def unless_in_user_namespace(check: Check) -> Check:
    """Root of a user namespace is nobody on the node."""
    return lambda metadata, spec: None if in_user_namespace(spec) else check(metadata, spec)


def app_armor(metadata: Obj, spec: Obj) -> Refusal | None:
    pod_type = _profile(spec.get("securityContext") or {}, "appArmorProfile")
    bad_pod = pod_type is not None and pod_type not in _PROFILES
    bad: list[str] = []
    values = {pod_type or ""} if bad_pod else set()
    for container, context in containers(spec):
        kind = _profile(context, "appArmorProfile")
        if kind is not None and kind not in _PROFILES:
            bad.append(container["name"])
            values.add(kind)
    annotations = sorted(
        f"{key}={quote(value)}"
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith(_APP_ARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    said = [each for each in (setters(bad_pod, bad), plural("annotation", "annotations", len(annotations))) if each]
    if not annotations:
        said = said[: 1 if bad_pod or bad else 0]
    if not said:
        return None
    listed = [*sorted(values), *annotations]
    reason = plural("forbidden AppArmor profile", "forbidden AppArmor profiles", len(listed))
    return Refusal(reason, f"{' and '.join(said)} must not set AppArmor profile type to {quoted(listed)}")


def _profile(context: Obj, field: str) -> str | None:
    found = context.get(field)
    return found.get("type", "") if found is not None else None


def capabilities(_metadata: Obj, spec: Obj) -> Refusal | None:
    bad: list[str] = []
    added: set[str] = set()
    for container, context in containers(spec):
        extra = set((context.get("capabilities") or {}).get("add") or ()) - _CAPABILITIES
        if extra:
            bad.append(container["name"])
            added |= extra
    if not bad:
        return None
    told = f"{named(bad)} must not include {quoted(sorted(added))} in securityContext.capabilities.add"
    return Refusal("non-default capabilities", told)


def host_namespaces(_metadata: Obj, spec: Obj) -> Refusal | None:
    shared = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return Refusal("host namespaces", ", ".join(shared)) if shared else None


def host_path_volumes(_metadata: Obj, spec: Obj) -> Refusal | None:
    bad = [each["name"] for each in spec.get("volumes") or () if each.get("hostPath") is not None]
    return Refusal("hostPath volumes", f"{plural('volume', 'volumes', len(bad))} {quoted(bad)}") if bad else None


def host_ports(_metadata: Obj, spec: Obj) -> Refusal | None:
    bad: list[str] = []
    ports: set[str] = set()
    for container, _ in containers(spec):
        used = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        if used:
            bad.append(container["name"])
            ports |= used
    if not bad:
        return None
    use, word = plural("uses", "use", len(bad)), plural("hostPort", "hostPorts", len(ports))
    return Refusal("hostPort", f"{named(bad)} {use} {word} {', '.join(sorted(ports))}")


def host_probes(_metadata: Obj, spec: Obj) -> Refusal | None:
    bad: set[str] = set()
    hosts: set[str] = set()
    for container, _ in containers(spec):
        used = set(_hosts(container))
        if used:
            bad.add(container["name"])
            hosts |= used
    if not bad:
        return None
    use, word = plural("uses", "use", len(bad)), plural("probe or lifecycle host", "probe or lifecycle hosts", len(hosts))
    return Refusal("probe or lifecycle host", f"{named(sorted(bad))} {use} {word} {quoted(sorted(hosts))}")


def _hosts(container: Obj) -> Iterator[str]:
    lifecycle = container.get("lifecycle") or {}
    probes = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    for handler in (*probes, lifecycle.get("postStart"), lifecycle.get("preStop")):
        for way in ("httpGet", "tcpSocket"):
            host = ((handler or {}).get(way) or {}).get("host")
            if host:
                yield host


def privileged(_metadata: Obj, spec: Obj) -> Refusal | None:
    bad = [container["name"] for container, context in containers(spec) if context.get("privileged")]
    return Refusal("privileged", f"{named(bad)} must not set securityContext.privileged=true") if bad else None


def proc_mount(_metadata: Obj, spec: Obj) -> Refusal | None:
    bad: list[str] = []
    kinds: set[str] = set()
    for container, context in containers(spec):
        kind = context.get("procMount")
        if kind is not None and kind != "Default":
            bad.append(container["name"])
            kinds.add(kind)
    if not bad:
        return None
    return Refusal("procMount", f"{named(bad)} must not set securityContext.procMount to {quoted(sorted(kinds))}")


def se_linux(*allowed: str) -> Check:
    types = frozenset(("", *allowed))

    def check(_metadata: Obj, spec: Obj) -> Refusal | None:
        pod = (spec.get("securityContext") or {}).get("seLinuxOptions") or {}
        every = [(container["name"], context.get("seLinuxOptions") or {}) for container, context in containers(spec)]
        bad = [name for name, options in every if _is_special(options, types)]
        if not bad and not _is_special(pod, types):
            return None
        chosen = [pod, *(options for _, options in every)]
        kinds = sorted({options.get("type", "") for options in chosen} - types)
        data = [f"{plural('type', 'types', len(kinds))} {quoted(kinds)}"] if kinds else []
        data += [f"{part} may not be set" for part in ("user", "role") if any(each.get(part) for each in chosen)]
        said = setters(_is_special(pod, types), bad)
        return Refusal("seLinuxOptions", f"{said} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}")

    return check


def _is_special(options: Obj, types: frozenset[str]) -> bool:
    return bool(options.get("type", "") not in types or options.get("user") or options.get("role"))


def seccomp_annotations(metadata: Obj, spec: Obj) -> Refusal | None:
    annotations = metadata.get("annotations") or {}
    keys = [_SECCOMP_POD, *(_SECCOMP_CONTAINER + container["name"] for container, _ in containers(spec))]
    bad = sorted({f"{key}={quote(annotations[key])}" for key in keys if key in annotations and _is_loose(annotations[key])})
    if not bad:
        return None
    return Refusal("seccompProfile", f"forbidden {plural('annotation', 'annotations', len(bad))} {', '.join(bad)}")


def _is_loose(value: str) -> bool:
    return value not in ("runtime/default", "docker/default") and not value.startswith("localhost/")


def seccomp(_metadata: Obj, spec: Obj) -> Refusal | None:
    pod_type = _profile(spec.get("securityContext") or {}, "seccompProfile")
    bad_pod = pod_type is not None and pod_type not in _PROFILES
    values = {pod_type or ""} if bad_pod else set()
    bad: list[str] = []
    for container, context in containers(spec):
        kind = _profile(context, "seccompProfile")
        if kind is not None and kind not in _PROFILES:
            bad.append(container["name"])
            values.add(kind)
    if not values:
        return None
    told = f"{setters(bad_pod, bad)} must not set securityContext.seccompProfile.type to {quoted(sorted(values))}"
    return Refusal("seccompProfile", told)


def sysctls(*allowed: str) -> Check:
    def check(_metadata: Obj, spec: Obj) -> Refusal | None:
        asked = (spec.get("securityContext") or {}).get("sysctls") or ()
        bad = [each["name"] for each in asked if each["name"] not in allowed]
        return Refusal("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def windows_host_process(_metadata: Obj, spec: Obj) -> Refusal | None:
    def asks(context: Obj) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    bad = [container["name"] for container, context in containers(spec) if asks(context)]
    said = setters(asks(spec.get("securityContext") or {}), bad)
    return Refusal("hostProcess", f"{said} must not set securityContext.windowsOptions.hostProcess=true") if said else None
