"""The turns of an autoscaler: what it asks next, and what it writes when it knows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tiphys.api.apiextensions.customresourcedefinitions import CUSTOM_RESOURCE_DEFINITIONS
from tiphys.api.autoscaling.horizontalpodautoscalers import HORIZONTALPODAUTOSCALERS
from tiphys.api.core.pods import PODS
from tiphys.api.kind import Kind
from tiphys.controllers import kinds
from tiphys.controllers.autoscaler import asking, behavior, metrics, report
from tiphys.controllers.autoscaler.asking import Measured, Rescaled, Scaled
from tiphys.controllers.autoscaler.behavior import Bounds, Past
from tiphys.controllers.autoscaler.metrics import Failed, Followed, Kinds
from tiphys.controllers.autoscaler.replicas import Target
from tiphys.controllers.autoscaler.report import Report
from tiphys.controllers.autoscaler.settings import AutoscalerSettings
from tiphys.controllers.controller import Base, Caches, Inquiry, Watch, no_keys, own_key
from tiphys.controllers.plan import NOT_FOUND, Emit, Inquire, Note, Plan, Update, Write
from tiphys.machinery import meta, selectors, times
from tiphys.machinery.selectors import Selector
from tiphys.machinery.tree import Obj, get

_GOT_SCALE = ("SucceededGetScale", "the HPA controller was able to get the target's current scale")
_AT_ZERO = ("ScalingDisabled", "scaling is disabled since the replica count of the target is zero")


@dataclass(frozen=True, slots=True)
class Step:
    """How far an autoscaler has come with what it has asked so far."""

    report: Report
    kind: Kind
    scale: Obj
    past: Past
    metrics: tuple[Obj, ...] = ()
    desired: int = 0
    reason: str = ""

    @property
    def current(self) -> int:
        found: int = get(self.scale, ("spec", "replicas")) or 0
        return found


@dataclass(frozen=True, slots=True)
class World:
    autoscaler: Obj
    answer: Scaled | Measured | Rescaled | None
    """To what was asked last; None: this is the beginning."""
    kinds: Kinds
    pods: tuple[Obj, ...]
    """Those of the target, once its scale has told which."""
    rivals: tuple[str, ...]
    """Every autoscaler that selects some of them, this one among them."""
    past: Past
    now: float


class HorizontalPodAutoscalerController(Base):
    name = "horizontal-pod-autoscaler-controller"
    component = "horizontal-pod-autoscaler"
    inquiries: Mapping[str, Inquiry] = {"scale": asking.scale, "measure": asking.measure, "rescale": asking.rescale}

    def __init__(self, settings: AutoscalerSettings | None = None) -> None:
        self._settings = settings or AutoscalerSettings()
        # Nothing that happens to an autoscaler makes it look at its metrics more often.
        self.watches = (
            Watch(HORIZONTALPODAUTOSCALERS, own_key, delay=self._settings.sync_period),
            Watch(PODS, no_keys),
            Watch(CUSTOM_RESOURCE_DEFINITIONS, no_keys),
        )
        self._past: dict[str, Past] = {}
        self._selectors: dict[str, Selector] = {}
        """By autoscaler: the pods of its target, as far as that is known."""
        self._built_in: Kinds = {(kind.group, kind.kind): kind for kind in kinds.built_in()}

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        autoscaler = caches[HORIZONTALPODAUTOSCALERS].get(key)
        if autoscaler is None:
            self._past.pop(key, None)
            self._selectors.pop(key, None)
            return None
        answer: Scaled | Measured | Rescaled | None = caches.answers.get(key)
        pods, rivals = self._selected(key, answer, caches)
        custom = {(kind.group, kind.kind): kind for kind in kinds.custom(caches[CUSTOM_RESOURCE_DEFINITIONS])}
        return World(autoscaler, answer, {**self._built_in, **custom}, pods, rivals, self._past.get(key, Past()), now)

    def _selected(
        self, key: str, answer: Scaled | Measured | Rescaled | None, caches: Caches
    ) -> tuple[tuple[Obj, ...], tuple[str, ...]]:
        scale = answer.scale if isinstance(answer, Scaled) else answer.step.scale if isinstance(answer, Measured) else {}
        selector = _selector(scale)
        if isinstance(selector, str):
            return (), ()
        self._selectors[key] = selector
        namespace = key.partition("/")[0]
        pods = tuple(pod for pod in caches[PODS].in_namespace(namespace) if selector.matches(meta.labels(pod)))
        rivals = (each for each in self._selectors if each.partition("/")[0] == namespace)
        return pods, tuple(
            sorted(each for each in rivals if any(self._selectors[each].matches(meta.labels(pod)) for pod in pods))
        )

    def reconcile(self, world: World) -> Plan:
        answer = world.answer
        if answer is None:
            return self._begin(world)
        if isinstance(answer, Scaled):
            return self._scaled(answer, world)
        if isinstance(answer, Measured):
            return self._measured(answer.step, answer, world)
        return self._rescaled(answer.step, answer.problem, world.now)

    def _begin(self, world: World) -> Plan:
        reference = world.autoscaler["spec"]["scaleTargetRef"]
        group, name = meta.group_of(reference.get("apiVersion", "")), reference["kind"]
        kind = world.kinds.get((group, name))
        if kind is None:
            within = f' in group "{group}"' if group else ""
            told = report.begin(world.autoscaler, world.now)
            return self._without_scale(told, f'no matches for kind "{name}"{within}')
        return Plan((Inquire("scale", {"autoscaler": world.autoscaler, "kind": kind}),))

    def _without_scale(self, told: Report, problem: str) -> Plan:
        message = f"the HPA controller was unable to get the target's current scale: {problem}"
        told = told.note("FailedGetScale", problem).able(("FailedGetScale", message), able=False)
        before = told.autoscaler.get("status") or {}
        metrics = before.get("currentMetrics")
        return self._finished(told, before.get("currentReplicas", 0), before.get("desiredReplicas", 0), metrics)

    def _scaled(self, found: Scaled, world: World) -> Plan:
        told = report.begin(found.autoscaler, world.now)
        if found.problem:
            return self._without_scale(told, found.problem)
        step = Step(told.able(_GOT_SCALE), found.kind, found.scale, world.past)
        step = replace(step, past=world.past.begun(step.current, world.now))
        self._past[meta.key(found.autoscaler)] = step.past
        spec = found.autoscaler["spec"]
        least = _least(spec)
        if step.current == 0:
            told = step.report.condition("ScalingActive", "False", _AT_ZERO)
            return self._finished(told, 0, 0, None)
        if step.current > spec["maxReplicas"]:
            return _rescale(step, spec["maxReplicas"], "Current number of replicas above Spec.MaxReplicas")
        if step.current < least:
            return _rescale(step, least, "Current number of replicas below Spec.MinReplicas")
        refused = _unsound_selector(step, world)
        if refused is not None:
            told, problem = refused
            return self._uncountable(replace(step, report=told), problem)
        text = str(_selector(step.scale))
        namespace = meta.namespace(found.autoscaler)
        questions = [metrics.question(each, namespace, text, world.kinds) for each in spec.get("metrics") or ()]
        return Plan((Inquire("measure", {"step": step, "questions": questions}),))

    def _measured(self, step: Step, found: Measured, world: World) -> Plan:
        autoscaler = step.report.autoscaler
        spec = autoscaler["spec"]
        rules = spec.get("behavior")
        target = Target(
            step.current,
            get(step.scale, ("status", "replicas")) or 0,
            world.pods,
            metrics.tolerated(rules, self._settings.tolerance),
            self._settings,
            world.now,
        )
        listed, namespace = spec.get("metrics") or (), meta.namespace(autoscaler)
        results = [metrics.follow(one, answer, namespace, target) for one, answer in zip(listed, found.answers, strict=True)]
        failed = [each for each in results if isinstance(each, Failed)]
        followed = [each for each in results if isinstance(each, Followed)]
        told = step.report
        for each in failed:
            told = told.note(each.reason, each.problem)
        statuses = tuple(each.status if isinstance(each, Followed) else {"type": ""} for each in results)
        best = max(followed, key=lambda each: each.replicas, default=None)
        step = replace(step, report=told, metrics=statuses)
        if best is None or (failed and best.replicas < step.current):
            if failed:
                message = f"the HPA was unable to compute the replica count: {failed[0].problem}"
                step = replace(step, report=told.condition("ScalingActive", "False", (failed[0].reason, message)))
            return self._uncountable(step, metrics.summed(failed, len(results)))
        words = ("ValidMetricFound", f"the HPA was able to successfully calculate a replica count from {best.name}")
        step = replace(step, report=told.condition("ScalingActive", "True", words))
        return self._allowed(step, best, world)

    def _allowed(self, step: Step, best: Followed, world: World) -> Plan:
        autoscaler = step.report.autoscaler
        spec, key = autoscaler["spec"], meta.key(autoscaler)
        rules, window = spec.get("behavior"), self._settings.downscale_stabilization
        bounds = Bounds(step.current, _least(spec), spec["maxReplicas"])
        past = self._past.get(key, step.past)
        if rules is None:
            allowed = behavior.without_rules(best.replicas, bounds, past, window, world.now)
        else:
            allowed = behavior.with_rules(best.replicas, bounds, rules, past, window, world.now)
        self._past[key] = allowed.past
        told = step.report.able(allowed.able)
        told = told.condition("ScalingLimited", "True" if allowed.limited else "False", allowed.limit)
        step = replace(step, report=told)
        if allowed.replicas == step.current:
            return self._finished(told, step.current, step.current, step.metrics)
        reason = f"{best.name} above target" if best.replicas > step.current else ""
        reason = "All metrics below target" if best.replicas < step.current else reason
        return _rescale(step, allowed.replicas, reason)

    def _rescaled(self, step: Step, problem: str, now: float) -> Plan:
        told, desired, autoscaler = step.report, step.desired, step.report.autoscaler
        if problem:
            told = told.note("FailedRescale", f"New size: {desired}; reason: {step.reason}; error: {problem}")
            message = f"the HPA controller was unable to update the target scale: {problem}"
            told = told.able(("FailedUpdateScale", message), able=False)
            before: int = get(autoscaler, ("status", "desiredReplicas")) or 0
            return self._finished(told, step.current, before, step.metrics)
        message = f"the HPA controller was able to update the target scale to {desired}"
        told = told.able(("SucceededRescale", message))
        told = told.note("SuccessfulRescale", f"New size: {desired}; reason: {step.reason}", "Normal")
        if autoscaler["spec"].get("behavior") is not None:
            key = meta.key(autoscaler)
            self._past[key] = self._past.get(key, step.past).scaled(step.current, desired, now)
        return self._finished(told, step.current, desired, step.metrics, times.rfc3339(now))

    def _uncountable(self, step: Step, problem: str) -> Plan:
        told = step.report.note("FailedComputeMetricsReplicas", problem)
        before: int = get(told.autoscaler, ("status", "desiredReplicas")) or 0
        return self._finished(told, step.current, before, step.metrics)

    def _finished(self, told: Report, current: int, desired: int, measured: Sequence[Obj] | None, scaled_at: str = "") -> Plan:
        return Plan(tuple(_writes(told, told.status(current, desired, measured, scaled_at))), self._settings.sync_period)


def _least(spec: Obj) -> int:
    found = spec.get("minReplicas")
    return 1 if found is None else int(found)


def _rescale(step: Step, desired: int, reason: str) -> Plan:
    step = replace(step, desired=desired, reason=reason)
    return Plan((Inquire("rescale", {"step": step, "kind": step.kind, "replicas": desired, "scale": step.scale}),))


def _writes(told: Report, status: Obj | None) -> Iterator[Write]:
    yield from (Emit(each) for each in told.notes)
    if status is not None:
        failed = Note(told.autoscaler, "FailedUpdateStatus", "{error}", "Warning")
        changed = {**told.autoscaler, "status": status}
        yield Update(HORIZONTALPODAUTOSCALERS, changed, "status", failed=failed, tolerate=NOT_FOUND)


def _selector(scale: Obj) -> Selector | str:
    """Text is why there is none."""
    text = get(scale, ("status", "selector")) or ""
    if not text:
        return ""
    try:
        return selectors.parse_labels(text)
    except ValueError as problem:
        return str(problem)


def _unsound_selector(step: Step, world: World) -> tuple[Report, str] | None:
    """Metrics count for pods of this target only. None: they do."""
    told, selector = step.report, _selector(step.scale)
    if selector == "":
        problem = "selector is required"
        words = ("InvalidSelector", "the HPA target's scale is missing a selector")
        return told.note("SelectorRequired", problem).condition("ScalingActive", "False", words), problem
    if isinstance(selector, str):
        problem = f"couldn't convert selector into a corresponding internal selector object: {selector}"
        return _refused(told, "InvalidSelector", problem), problem
    if len(world.rivals) > 1:
        text = get(step.scale, ("status", "selector"))
        problem = f"pods by selector {text} are controlled by multiple HPAs: [{' '.join(world.rivals)}]"
        return _refused(told, "AmbiguousSelector", problem), problem
    return None


def _refused(told: Report, reason: str, problem: str) -> Report:
    return told.note(reason, problem).condition("ScalingActive", "False", (reason, problem))
