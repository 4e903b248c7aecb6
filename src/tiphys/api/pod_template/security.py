"""Security contexts, of pods and of containers."""

import re
from collections.abc import Iterator

from tiphys.api.pod_template.internal import told
from tiphys.api.pod_template.options import Options
from tiphys.api.pod_template.paths import local
from tiphys.api.pod_template.windows import validate_windows_options
from tiphys.machinery.fields import FieldError, duplicate, forbidden, invalid, not_supported, required, too_long
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import user_id

_PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_APP_ARMOR_MAX = 4095
_APP_ARMOR_LOCALHOST = "localhost/"

_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SEGMENT}[\./])*{_SEGMENT}"
_SYSCTL_RE = re.compile(_SYSCTL)
_SYSCTL_MAX = 253
_IPC_SYSCTLS = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shm", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "msg", "msgmax", "msgmnb", "msgmni")
)


def validate_pod_context(context: Obj, spec: Obj, at: str, options: Options) -> Iterator[FieldError]:
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from _validate_id(context.get(name), f"{at}.{name}")
    for position, group in enumerate(context.get("supplementalGroups") or ()):
        yield from _validate_id(group, f"{at}.supplementalGroups[{position}]")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{at}.shareProcessNamespace", True, why)
    if context.get("sysctls"):
        yield from _validate_sysctls(context["sysctls"], spec, f"{at}.sysctls", options)
    policy = context.get("fsGroupChangePolicy")
    if policy is not None and policy not in ("Always", "OnRootMismatch"):
        yield not_supported(f"{at}.fsGroupChangePolicy", policy, ("Always", "OnRootMismatch"))
    if context.get("seccompProfile") is not None:
        yield from _validate_seccomp(context["seccompProfile"], f"{at}.seccompProfile")
    if context.get("windowsOptions") is not None:
        yield from validate_windows_options(context["windowsOptions"], f"{at}.windowsOptions")
    if context.get("appArmorProfile") is not None:
        yield from app_armor_problems(context["appArmorProfile"], f"{at}.appArmorProfile")
    policy = context.get("supplementalGroupsPolicy")
    if policy is not None and policy not in ("Merge", "Strict"):
        yield not_supported(f"{at}.supplementalGroupsPolicy", policy, ("Merge", "Strict"))
    policy = context.get("seLinuxChangePolicy")
    allowed = ("MountOption", "Recursive") if options.any_selinux_policy else ("Recursive",)
    if policy is not None and policy not in allowed:
        yield not_supported(f"{at}.seLinuxChangePolicy", policy, allowed)


def _validate_id(value: int | None, at: str) -> Iterator[FieldError]:
    if value is not None:
        for problem in user_id(value):
            yield invalid(at, value, problem)


def _validate_sysctls(sysctls: list[Obj], spec: Obj, at: str, options: Options) -> Iterator[FieldError]:
    seen = set()
    for position, sysctl in enumerate(sysctls):
        name = sysctl.get("name") or ""
        here = f"{at}[{position}].name"
        if not name:
            yield required(here)
        elif len(name) > _SYSCTL_MAX or not _SYSCTL_RE.fullmatch(name):
            yield invalid(here, name, f"must have at most {_SYSCTL_MAX} characters and match regex ^{_SYSCTL}$")
        elif name in seen:
            yield duplicate(here, name)
        if not options.host_sysctls:
            problem = host_sysctl_problem(name, spec, here)
            if problem is not None:
                yield problem
        seen.add(name)


def host_sysctl_problem(name: str, spec: Obj, at: str) -> FieldError | None:
    """A namespaced sysctl would change the host where the pod shares that namespace with it."""
    plain = _with_dots(name).partition("*")[0]
    if spec.get("hostNetwork") and plain.startswith("net."):
        return invalid(at, name, "may not be specified when 'hostNetwork' is true")
    if spec.get("hostIPC") and (plain in _IPC_SYSCTLS or plain.startswith("fs.mqueue.")):
        return invalid(at, name, "may not be specified when 'hostIPC' is true")
    return None


def _with_dots(name: str) -> str:
    """`net/ipv4/conf/eth0.1` is spelled with slashes so that a dot may stand within a segment."""
    separator = re.search(r"[./]", name)
    if separator is None or separator[0] == ".":
        return name
    return name.translate({ord("/"): ".", ord("."): "/"})


def validate_container_context(context: Obj, at: str, host_users: bool) -> Iterator[FieldError]:
    for name in ("runAsUser", "runAsGroup"):
        yield from _validate_id(context.get(name), f"{at}.{name}")
    proc_mount = context.get("procMount")
    if proc_mount is not None:
        if proc_mount not in ("Default", "Unmasked"):
            yield not_supported(f"{at}.procMount", proc_mount, ("Default", "Unmasked"))
        if host_users and proc_mount == "Unmasked":
            yield invalid(f"{at}.procMount", proc_mount, "`hostUsers` must be false to use `Unmasked`")
    if context.get("seccompProfile") is not None:
        yield from _validate_seccomp(context["seccompProfile"], f"{at}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        yield from _validate_no_escalation(context, at)
    if context.get("windowsOptions") is not None:
        yield from validate_windows_options(context["windowsOptions"], f"{at}.windowsOptions")
    if context.get("appArmorProfile") is not None:
        yield from app_armor_problems(context["appArmorProfile"], f"{at}.appArmorProfile")


def _validate_no_escalation(context: Obj, at: str) -> Iterator[FieldError]:
    if context.get("privileged"):
        why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield invalid(at, told(context, "SecurityContext"), why)
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield invalid(at, told(context, "SecurityContext"), why)


def _validate_seccomp(profile: Obj, at: str) -> Iterator[FieldError]:
    kind, local_profile = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        yield required(f"{at}.type", "type is required when seccompProfile is set")
    elif kind not in _PROFILE_TYPES:
        yield not_supported(f"{at}.type", kind, _PROFILE_TYPES)
    if kind == "Localhost":
        if local_profile is None:
            yield required(f"{at}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            yield from local(local_profile, f"{at}.localhostProfile")
    elif local_profile is not None:
        shown = told(profile, "SeccompProfile")
        yield invalid(f"{at}.localhostProfile", shown, "can only be set when seccomp type is Localhost")


def app_armor_problems(profile: Obj, at: str) -> Iterator[FieldError]:
    kind, name = profile.get("type") or "", profile.get("localhostProfile")
    if kind == "Localhost":
        if not name:
            yield required(f"{at}.localhostProfile", "must be set when AppArmor type is Localhost")
        elif name != name.strip():
            yield invalid(f"{at}.localhostProfile", name, "must not be padded with whitespace")
        if name and len(name.encode()) > _APP_ARMOR_MAX:
            yield too_long(f"{at}.localhostProfile", _APP_ARMOR_MAX)
    elif not kind:
        yield required(f"{at}.type", "type is required when appArmorProfile is set")
    elif kind not in _PROFILE_TYPES:
        yield not_supported(f"{at}.type", kind, _PROFILE_TYPES)
    elif name is not None:
        yield invalid(f"{at}.localhostProfile", name, "can only be set when AppArmor type is Localhost")


def app_armor_of_annotation(annotation: str) -> Obj | None:
    """The profile that an annotation of old stands for; None where it makes no sense."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    name = annotation.removeprefix(_APP_ARMOR_LOCALHOST)
    if name and name != annotation:
        return {"type": "Localhost", "localhostProfile": name}
    return None


def validate_host_users(spec: Obj, at: str, containers: Iterator[tuple[Obj, str]], options: Options) -> Iterator[FieldError]:
    """Users of the pod's own do not go with other namespaces of the host. Upstream writes two of the fields in capitals."""
    why = "when `hostUsers` is false"
    if spec.get("hostNetwork") and not options.host_network_users:
        yield forbidden(f"{at}.hostNetwork", why)
    if spec.get("hostPID"):
        yield forbidden(f"{at}.HostPID", why)
    if spec.get("hostIPC"):
        yield forbidden(f"{at}.HostIPC", why)
    if not options.mapped_devices:
        for container, here in containers:
            if container.get("volumeDevices"):
                yield forbidden(f"{here}.volumeDevices", why)
