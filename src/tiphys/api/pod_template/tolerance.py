"""What the validation of an update forgives, read off the spec that is there already."""

from tiphys.api.pod_template import amounts
from tiphys.api.pod_template.options import REQUIRED, STRICT, STRICT_POD, Options, affinity_terms, containers
from tiphys.api.pod_template.paths import local_unreserved
from tiphys.api.pod_template.scheduling import label_key_problems
from tiphys.api.pod_template.security import host_sysctl_problem
from tiphys.api.resources import is_huge_pages
from tiphys.machinery import quantity, selectors
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import label_value


def tolerated_by(old: Obj | None, *, is_pod: bool = False, any_deletion_cost: bool = False) -> Options:
    """From the spec that is there already."""
    if old is None:
        return STRICT_POD if is_pod else STRICT
    context = old.get("securityContext") or {}
    spreads = old.get("topologySpreadConstraints") or ()
    return Options(
        is_pod=is_pod,
        any_deletion_cost=any_deletion_cost,
        invalid_selector_values=_has_invalid_selector(old),
        invalid_node_affinity_values=_has_invalid_node_affinity(old),
        indivisible_huge_pages=_has_broken_pages(old),
        invalid_spread_selectors=any(_is_invalid(each.get("labelSelector")) for each in spreads),
        merged_spread_keys=not any(map(_has_unmerged_keys, spreads)),
        non_local_token_path=_has_non_local_token(old),
        host_sysctls=bool(context.get("sysctls")) and _has_host_sysctls(old),
        any_selinux_policy=context.get("seLinuxChangePolicy") is not None,
        compared_tolerations=any(each.get("operator") in ("Lt", "Gt") for each in old.get("tolerations") or ()),
        host_network_users=bool(old.get("hostNetwork")) and old.get("hostUsers") is False,
        restarted_init_containers=any(map(_restarts_on_resize, old.get("initContainers") or ())),
        mapped_devices=old.get("hostUsers") is False and any(each.get("volumeDevices") for each in containers(old)),
    )


def _is_invalid(selector: Obj | None) -> bool:
    return selector is not None and any(selectors.validate_label_selector(selector, ""))


def _has_invalid_selector(spec: Obj) -> bool:
    return any(
        _is_invalid(term.get("labelSelector")) or _is_invalid(term.get("namespaceSelector")) for term in affinity_terms(spec)
    )


def _has_invalid_node_affinity(spec: Obj) -> bool:
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    return any(
        label_value(value)
        for term in required.get("nodeSelectorTerms") or ()
        for expression in term.get("matchExpressions") or ()
        for value in expression.get("values") or ()
    )


def _has_broken_pages(spec: Obj) -> bool:
    lists = [spec.get("overhead")]
    for container in containers(spec):
        resources = container.get("resources") or {}
        lists += [resources.get("limits"), resources.get("requests")]
    return any(
        is_huge_pages(name) and not amounts.divides_into_pages(name, quantity.parse(text))
        for listed in lists
        for name, text in (listed or {}).items()
    )


def _has_unmerged_keys(constraint: Obj) -> bool:
    keys = constraint.get("matchLabelKeys")
    return bool(keys) and any(label_key_problems("", keys, None, constraint.get("labelSelector")))


def _has_non_local_token(spec: Obj) -> bool:
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            token = source.get("serviceAccountToken")
            if token is not None and any(local_unreserved(token.get("path") or "", "")):
                return True
    return False


def _has_host_sysctls(spec: Obj) -> bool:
    sysctls = spec["securityContext"]["sysctls"]
    return any(host_sysctl_problem(each.get("name") or "", spec, "") is not None for each in sysctls)


def _restarts_on_resize(container: Obj) -> bool:
    if container.get("restartPolicy") == "Always":
        return False
    return any(each.get("restartPolicy") == "RestartContainer" for each in container.get("resizePolicy") or ())
