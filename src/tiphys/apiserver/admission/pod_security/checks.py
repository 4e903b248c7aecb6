"""Which checks a level consists of, in each version: one literal table, in the order in which their refusals are told."""

import functools
from typing import NamedTuple

from tiphys.apiserver.admission.pod_security import baseline, restricted
from tiphys.apiserver.admission.pod_security.baseline import Check, unless_in_user_namespace
from tiphys.apiserver.admission.pod_security.policy import PRIVILEGED, RESTRICTED, Standard
from tiphys.apiserver.admission.pod_security.restricted import unless_windows
from tiphys.apiserver.admission.pod_security.wording import Refusal
from tiphys.machinery.tree import Obj

_TYPES = ("container_t", "container_init_t", "container_kvm_t")
_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
)
_SYSCTLS_27 = (*_SYSCTLS, "net.ipv4.ip_local_reserved_ports")
_SYSCTLS_29 = (
    *_SYSCTLS_27,
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
)


class Row(NamedTuple):
    name: str
    versions: tuple[tuple[int, Check], ...]
    """From which minor version on a check is this function."""
    replaces: str = ""
    """The check of `baseline` that this one makes superfluous."""


BASELINE = (
    Row("appArmorProfile", ((0, baseline.app_armor),)),
    Row("capabilities_baseline", ((0, baseline.capabilities),)),
    Row("hostNamespaces", ((0, baseline.host_namespaces),)),
    Row("hostPathVolumes", ((0, baseline.host_path_volumes),)),
    Row("hostPorts", ((0, baseline.host_ports),)),
    Row("hostProbesAndHostLifecycle", ((34, baseline.host_probes),)),
    Row("privileged", ((0, baseline.privileged),)),
    Row("procMount", ((0, baseline.proc_mount), (35, unless_in_user_namespace(baseline.proc_mount)))),
    Row("seLinuxOptions", ((0, baseline.se_linux(*_TYPES)), (31, baseline.se_linux(*_TYPES, "container_engine_t")))),
    Row("seccompProfile_baseline", ((0, baseline.seccomp_annotations), (19, baseline.seccomp))),
    Row(
        "sysctls",
        (
            (0, baseline.sysctls(*_SYSCTLS)),
            (27, baseline.sysctls(*_SYSCTLS_27)),
            (29, baseline.sysctls(*_SYSCTLS_29)),
            (32, baseline.sysctls(*_SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")),
        ),
    ),
    Row("windowsHostProcess", ((0, baseline.windows_host_process),)),
)

ONLY_RESTRICTED = (
    Row(
        "allowPrivilegeEscalation",
        ((8, restricted.privilege_escalation), (25, unless_windows(restricted.privilege_escalation))),
    ),
    Row(
        "capabilities_restricted",
        ((22, restricted.capabilities), (25, unless_windows(restricted.capabilities))),
        "capabilities_baseline",
    ),
    Row("procMount_restricted", ((35, baseline.proc_mount),), "procMount"),
    Row("restrictedVolumes", ((0, restricted.volumes),), "hostPathVolumes"),
    Row("runAsNonRoot", ((0, restricted.run_as_non_root), (35, unless_in_user_namespace(restricted.run_as_non_root)))),
    Row("runAsUser", ((23, restricted.run_as_user), (35, unless_in_user_namespace(restricted.run_as_user)))),
    Row(
        "seccompProfile_restricted",
        ((19, restricted.seccomp), (25, unless_windows(restricted.seccomp))),
        "seccompProfile_baseline",
    ),
)

NEWEST = max(minor for row in (*BASELINE, *ONLY_RESTRICTED) for minor, _ in row.versions)


@functools.cache
def _checks(level: str, minor: int) -> tuple[Check, ...]:
    stricter = [(row, check) for row in ONLY_RESTRICTED if level == RESTRICTED and (check := _at(row, minor)) is not None]
    replaced = {row.replaces for row, _ in stricter}
    plain = [check for row in BASELINE if row.name not in replaced and (check := _at(row, minor)) is not None]
    return (*plain, *(check for _, check in stricter))


def _at(row: Row, minor: int) -> Check | None:
    return next((check for since, check in reversed(row.versions) if minor >= since), None)


def refusals(standard: Standard, metadata: Obj, spec: Obj) -> list[Refusal]:
    if standard.level == PRIVILEGED:
        return []
    found = (check(metadata, spec) for check in _checks(standard.level, min(standard.minor, NEWEST)))
    return [each for each in found if each is not None]


def detailed(found: list[Refusal]) -> str:
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in found)


def brief(found: list[Refusal]) -> str:
    return ", ".join(reason for reason, _ in found)
