"""What only Windows has, what it lacks, and which systems a pod may be for."""

import re
from collections.abc import Iterator

from tiphys.api.pod_template.internal import told
from tiphys.api.pod_template.options import containers_at
from tiphys.machinery.fields import FieldError, forbidden, invalid, not_supported, required
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import dns1123_subdomain, size

_SPEC_MAX_KIB = 64
_DOMAIN_MAX = 256
_USER_MAX = 104
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_DOMAIN = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_NOT_IN_USER = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_ONLY_DOTS = re.compile("[. ]+")

_NOT_ON_LINUX = "windows options cannot be set for a linux pod"
_NOT_ON_WINDOWS = "cannot be set for a windows pod"
# What Windows lacks, in upstream's order. Host namespaces stand in the spec itself.
_LINUX_POD = (
    "appArmorProfile",
    "seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "shareProcessNamespace",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_OF_SPEC = frozenset(("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"))
_UNSET_IF_EMPTY = frozenset(("hostPID", "hostIPC", "sysctls"))
_LINUX_CONTAINER = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)
_PLAIN_SIGNALS = """
ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU
URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX
"""
_SIGNALS = sorted(
    [f"SIG{name}" for name in _PLAIN_SIGNALS.split()]
    + [f"SIGRTMIN+{number}" for number in range(1, 16)]
    + [f"SIGRTMAX-{number}" for number in range(1, 15)]
)


def validate_os(spec: Obj, at: str) -> Iterator[FieldError]:
    name = spec["os"].get("name") or ""
    if not name:
        yield required(f"{at}.os.name")
    elif name == "linux":
        yield from _validate_linux(spec, at)
    elif name == "windows":
        yield from _validate_windows(spec, at)
    else:
        yield not_supported(f"{at}.os", name, ("linux", "windows"))


def _validate_linux(spec: Obj, at: str) -> Iterator[FieldError]:
    if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
        yield forbidden(f"{at}.securityContext.windowsOptions", _NOT_ON_LINUX)
    for container, here in containers_at(spec, at):
        if (container.get("securityContext") or {}).get("windowsOptions") is not None:
            yield forbidden(f"{here}.securityContext.windowsOptions", _NOT_ON_LINUX)


def _validate_windows(spec: Obj, at: str) -> Iterator[FieldError]:
    context = spec.get("securityContext") or {}
    for name in _LINUX_POD:
        value = (spec if name in _OF_SPEC else context).get(name)
        if value or (value is not None and name not in _UNSET_IF_EMPTY):
            yield forbidden(f"{at}.{name}" if name in _OF_SPEC else f"{at}.securityContext.{name}", _NOT_ON_WINDOWS)
    for container, here in containers_at(spec, at):
        context = container.get("securityContext") or {}
        for name in _LINUX_CONTAINER:
            if context.get(name) is not None:
                yield forbidden(f"{here}.securityContext.{name}", _NOT_ON_WINDOWS)


def validate_stop_signal(signal: str, system: Obj | None, at: str) -> Iterator[FieldError]:
    """Only of pods that had one before: the feature is off."""
    if system is None:
        yield forbidden(at, "may not be set for containers with empty `spec.os.name`")
        return
    supported = {"windows": ["SIGKILL", "SIGTERM"], "linux": _SIGNALS}.get(system.get("name") or "")
    if supported is not None and signal not in supported:
        yield not_supported(at, signal, supported)


def validate_windows_options(options: Obj, at: str) -> Iterator[FieldError]:
    name, spec = options.get("gmsaCredentialSpecName"), options.get("gmsaCredentialSpec")
    if name is not None:
        for problem in dns1123_subdomain(name):
            yield invalid(f"{at}.gmsaCredentialSpecName", name, problem)
    if spec is not None:
        if not spec:
            yield invalid(f"{at}.gmsaCredentialSpec", spec, "gmsaCredentialSpec cannot be an empty string")
        elif size(spec) > _SPEC_MAX_KIB * 1024:
            yield invalid(f"{at}.gmsaCredentialSpec", spec, f"gmsaCredentialSpec size must be under {_SPEC_MAX_KIB} KiB")
    user = options.get("runAsUserName")
    if user is not None:
        for problem in _user_problems(user):
            yield invalid(f"{at}.runAsUserName", told(user, "string"), f"runAsUserName{problem}")


def _user_problems(name: str) -> Iterator[str]:
    """`DOMAIN\\user`, or the user alone."""
    if not name:
        yield " cannot be an empty string"
        return
    if _CONTROL.search(name):
        yield " cannot contain control characters"
        return
    parts = name.split("\\")
    if len(parts) > 2:
        yield " cannot contain more than one backslash"
        return
    user, domain = parts[-1], parts[0] if len(parts) == 2 else None
    if domain is not None:
        if size(domain) >= _DOMAIN_MAX:
            yield f"'s Domain length must be under {_DOMAIN_MAX} characters"
        if not _NETBIOS.fullmatch(domain) and not _DNS_DOMAIN.fullmatch(domain):
            yield "'s Domain doesn't match the NetBios nor the DNS format"
    if not user:
        yield "'s User cannot be empty"
    elif size(user) > _USER_MAX:
        yield f"'s User length must not be longer than {_USER_MAX} characters"
    if _ONLY_DOTS.fullmatch(user):
        yield "'s User cannot contain only periods or spaces"
    if _NOT_IN_USER.search(user):
        yield "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def validate_host_process(spec: Obj, at: str) -> Iterator[FieldError]:
    """Either all containers are processes of the host, or none is."""
    of_pod = _host_process(spec)
    count = hosted = 0
    for container, here in containers_at(spec, at):
        count += 1
        own = _host_process(container)
        if of_pod is not None and own is not None and of_pod != own:
            why = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            yield invalid(f"{here}.securityContext.windowsOptions.hostProcess", own, why)
        hosted += bool(of_pod if own is None else own)
    if hosted:
        if hosted != count:
            yield invalid(
                at, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers"
            )
        if not spec.get("hostNetwork"):
            yield invalid(f"{at}.hostNetwork", False, "hostNetwork must be true if pod contains any hostProcess containers")


def _host_process(holder: Obj) -> bool | None:
    options = (holder.get("securityContext") or {}).get("windowsOptions") or {}
    value = options.get("hostProcess")
    return None if value is None else bool(value)
