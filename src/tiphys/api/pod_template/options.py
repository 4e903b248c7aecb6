"""What validation tolerates. Where an object is wrong already, an update of something else may leave it wrong."""

from collections.abc import Iterator
from dataclasses import dataclass

from tiphys.machinery.tree import Obj

AFFINITIES = ("podAffinity", "podAntiAffinity")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
GROUPS = ("initContainers", "containers", "ephemeralContainers")


@dataclass(frozen=True, slots=True)
class Options:
    is_pod: bool = False
    """A pod itself, not a template of one."""
    any_deletion_cost: bool = False
    invalid_selector_values: bool = False
    invalid_node_affinity_values: bool = False
    indivisible_huge_pages: bool = False
    invalid_spread_selectors: bool = False
    merged_spread_keys: bool = True
    """matchLabelKeys of spread constraints have been folded into the selector, and must not stand there besides."""
    non_local_token_path: bool = False
    host_sysctls: bool = False
    any_selinux_policy: bool = False
    compared_tolerations: bool = False
    host_network_users: bool = False
    restarted_init_containers: bool = False
    mapped_devices: bool = False


STRICT = Options()
STRICT_POD = Options(is_pod=True)


def containers(spec: Obj) -> Iterator[Obj]:
    """Init, regular and ephemeral, in upstream's order."""
    for group in GROUPS:
        yield from spec.get(group) or ()


def containers_at(spec: Obj, at: str) -> Iterator[tuple[Obj, str]]:
    """The same, each with its path."""
    for group in GROUPS:
        listed = spec.get(group)
        if listed:
            for position, container in enumerate(listed):
                yield container, f"{at}.{group}[{position}]"


def affinity_terms(spec: Obj) -> Iterator[Obj]:
    affinity = spec.get("affinity") or {}
    for side in AFFINITIES:
        terms = affinity.get(side) or {}
        yield from terms.get(REQUIRED) or ()
        for weighted in terms.get(PREFERRED) or ():
            yield weighted.get("podAffinityTerm") or {}
