"""Whose pods are checked against what, and what becomes of the outcome: refused, warned of, or noted for the audit log."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tiphys.api.core.pods import PODS
from tiphys.apiserver.admission.chain import CREATE_UPDATE, Attributes, Resources
from tiphys.apiserver.admission.pod_security import checks, policy
from tiphys.apiserver.admission.pod_security.policy import PREFIX, PRIVILEGED, Policy, Standard
from tiphys.apiserver.admission.pod_security.wording import Refusal, plural
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import errors, meta
from tiphys.machinery.tree import Obj, Path, get
from tiphys.store.interface import Store

MAX_PODS = 3000
"""So many pods of a namespace are checked at most when its labels change."""

TEMPLATES: dict[tuple[str, str], Path] = {
    ("", "podtemplates"): ("template",),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}
_IGNORED = frozenset(("exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"))


@dataclass(frozen=True, slots=True)
class Exemptions:
    usernames: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PodSecuritySettings:
    defaults: Policy = field(default_factory=Policy)
    exemptions: Exemptions = field(default_factory=Exemptions)


class PodSecurity:
    name = "PodSecurity"
    operations = CREATE_UPDATE
    resources: Resources = frozenset((("", "pods"), ("", "namespaces"), *TEMPLATES))

    def __init__(self, store: Store, lookup: Lookup, settings: PodSecuritySettings | None = None) -> None:
        settings = settings or PodSecuritySettings()
        self._store = store
        self._lookup = lookup
        self._defaults = settings.defaults
        self._exempt = settings.exemptions

    async def validate(self, attributes: Attributes) -> None:
        kind, obj = attributes.kind, attributes.obj
        if obj is None:
            return
        if kind.plural == "pods":
            if attributes.subresource not in _IGNORED:
                await self._pod(attributes, obj)
        elif attributes.subresource:
            return
        elif kind.plural == "namespaces":
            await self._namespace(attributes, obj)
        else:
            await self._template(attributes, get(obj, TEMPLATES[kind.group, kind.plural]))

    # --- pods and templates ------------------------------------------------------------------------------------------

    async def _pod(self, attributes: Attributes, pod: Obj) -> None:
        if self._is_exempt(attributes):
            return
        wanted, problem = await self._policy(attributes)
        if not problem and wanted.is_privileged:
            attributes.annotations[PREFIX + "enforce-policy"] = "privileged:latest"
            return
        if (
            attributes.operation == "UPDATE"
            and attributes.old is not None
            and not _matters(pod["spec"], attributes.old["spec"])
        ):
            return
        if self._note_exempt_class(attributes, pod["spec"]):
            return
        found = checks.refusals(wanted.enforce, pod["metadata"], pod["spec"])
        attributes.annotations[PREFIX + "enforce-policy"] = str(wanted.enforce)
        self._note(attributes, wanted, problem, pod)
        if found:
            why = f'violates PodSecurity "{wanted.enforce}": {checks.detailed(found)}'
            raise errors.forbidden("", "pods", attributes.name, why)
        self._warn(attributes, wanted, pod)

    async def _template(self, attributes: Attributes, template: Obj | None) -> None:
        """Never refused: its pods will be. But who writes it learns of that now."""
        if template is None or not template.get("spec") or self._is_exempt(attributes):
            return
        wanted, problem = await self._policy(attributes)
        if not problem and wanted.warn.level == wanted.audit.level == PRIVILEGED:
            return
        if not self._note_exempt_class(attributes, template["spec"]):
            self._note(attributes, wanted, problem, template)
            self._warn(attributes, wanted, template)

    def _is_exempt(self, attributes: Attributes) -> bool:
        if attributes.namespace in self._exempt.namespaces:
            attributes.annotations[PREFIX + "exempt"] = "namespace"
        elif attributes.user.name in self._exempt.usernames:
            attributes.annotations[PREFIX + "exempt"] = "user"
        else:
            return False
        return True

    def _note_exempt_class(self, attributes: Attributes, spec: Obj) -> bool:
        if spec.get("runtimeClassName") not in self._exempt.runtime_classes:
            return False
        attributes.annotations[PREFIX + "exempt"] = "runtimeClass"
        return True

    async def _policy(self, attributes: Attributes) -> tuple[Policy, str]:
        """And what is wrong with the labels."""
        name = attributes.namespace
        namespace = self._lookup.get("namespaces", name) or await self._lookup.fresh("namespaces", name)
        if namespace is None:
            raise errors.internal(f'failed to lookup namespace "{name}"')
        wanted, problems = policy.of_labels(namespace["metadata"].get("labels"), self._defaults)
        if not problems:
            return wanted, ""
        told = [str(each) for each in problems]
        return wanted, told[0] if len(told) == 1 else f"[{', '.join(told)}]"

    def _note(self, attributes: Attributes, wanted: Policy, problem: str, pod: Obj) -> None:
        if problem:
            attributes.annotations[PREFIX + "error"] = f"Failed to parse policy: {problem}"
        found = checks.refusals(wanted.audit, pod.get("metadata") or {}, pod["spec"])
        if found:
            told = f'would violate PodSecurity "{wanted.audit}": {checks.detailed(found)}'
            attributes.annotations[PREFIX + "audit-violations"] = told

    def _warn(self, attributes: Attributes, wanted: Policy, pod: Obj) -> None:
        found = checks.refusals(wanted.warn, pod.get("metadata") or {}, pod["spec"])
        if found:
            attributes.warnings.append(f'would violate PodSecurity "{wanted.warn}": {checks.detailed(found)}')

    # --- namespaces --------------------------------------------------------------------------------------------------

    async def _namespace(self, attributes: Attributes, namespace: Obj) -> None:
        labels = namespace["metadata"].get("labels") or {}
        new, problems = policy.of_labels(labels, self._defaults)
        name = namespace["metadata"]["name"]
        if attributes.operation == "CREATE":
            if problems:
                raise errors.invalid("", "Namespace", name, problems)
            self._warn_exempt(attributes, name, new, labels)
            return
        old, before = policy.of_labels((attributes.old or {"metadata": {}})["metadata"].get("labels"), self._defaults)
        if problems and problems != before:
            raise errors.invalid("", "Namespace", name, problems)
        if not _is_stricter(new.enforce, old.enforce):
            return
        if name in self._exempt.namespaces:
            self._warn_exempt(attributes, name, new, labels)
        else:
            listing = await self._store.list(PODS.prefix, name)
            attributes.warnings.extend(self._violations(name, new.enforce, [each.tree() for each in listing.records]))

    def _warn_exempt(self, attributes: Attributes, name: str, wanted: Policy, labels: Obj) -> None:
        if name not in self._exempt.namespaces or wanted.is_privileged or wanted.same_as(self._defaults):
            return
        said = [
            f"{mode}={standard}"
            for mode, standard in (("enforce", wanted.enforce), ("audit", wanted.audit), ("warn", wanted.warn))
            if standard.level != PRIVILEGED and (PREFIX + mode in labels or f"{PREFIX}{mode}-version" in labels)
        ]
        told = f'namespace "{name}" is exempt from Pod Security, and the policy ({", ".join(said)}) will be ignored'
        attributes.warnings.append(told)

    def _violations(self, namespace: str, standard: Standard, pods: list[Obj]) -> Iterator[str]:
        ordered = self._one_of_each_first(pods)
        violating: dict[str, list[str]] = {}
        for pod in ordered[:MAX_PODS]:
            found: list[Refusal] = checks.refusals(standard, pod["metadata"], pod["spec"])
            if found:
                violating.setdefault(checks.brief(found), []).append(pod["metadata"]["name"])
        if len(ordered) > MAX_PODS:
            yield (f"new PodSecurity enforce level only checked against the first {MAX_PODS} of {len(ordered)} existing pods")
        if violating:
            yield f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{standard}"'
        yield from sorted(_told(why, names) for why, names in violating.items())

    def _one_of_each_first(self, pods: Iterable[Obj]) -> list[Obj]:
        """Pods of one controller are alike, so the first of each comes before the rest."""
        first: list[Obj] = []
        rest: list[Obj] = []
        seen: set[str] = set()
        for pod in pods:
            if pod["spec"].get("runtimeClassName") in self._exempt.runtime_classes:
                continue
            owner = meta.controller_of(pod)
            uid = owner["uid"] if owner is not None else ""
            (rest if uid in seen else first).append(pod)
            if uid:
                seen.add(uid)
        return first + rest


def _is_stricter(new: Standard, old: Standard) -> bool:
    """Whether pods that were fine may no longer be."""
    if new == old or new.level == PRIVILEGED:
        return False
    return new.minor != old.minor or policy.LEVELS.index(new.level) > policy.LEVELS.index(old.level)


def _matters(new: Obj, old: Obj) -> bool:
    """Of a running pod only images change, and containers are added for debugging."""
    for part in ("containers", "initContainers"):
        now, was = new.get(part) or (), old.get(part) or ()
        if len(now) != len(was) or any(a.get("image") != b.get("image") for a, b in zip(now, was, strict=True)):
            return True
    images = {each["name"]: each.get("image") for each in old.get("ephemeralContainers") or ()}
    return any(images.get(each["name"], _ABSENT) != each.get("image") for each in new.get("ephemeralContainers") or ())


_ABSENT = object()


def _told(why: str, names: list[str]) -> str:
    others = len(names) - 1
    more = f" (and {others} {plural('other pod', 'other pods', others)})" if others else ""
    return f"{min(names)}{more}: {why}"
