"""Job: run this pod until it has succeeded often enough."""

from collections.abc import Iterable, Iterator

from tiphys.api import pod_template, unset_times
from tiphys.api.apps import workload
from tiphys.api.batch import job_spec, job_status
from tiphys.api.kind import AGE, SPEC, Column, Kind, Strategy
from tiphys.api.pod_template.internal import same, told
from tiphys.machinery import duration, selectors, times
from tiphys.machinery.fields import FieldError, invalid, required
from tiphys.machinery.tree import Obj, get, put
from tiphys.machinery.validators import IMMUTABLE, dns1123_label, immutable

JOB_NAME = "batch.kubernetes.io/job-name"
CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
LEGACY_JOB_NAME = "job-name"
LEGACY_CONTROLLER_UID = "controller-uid"

FIXED = {
    "completionMode": "*string",
    "podFailurePolicy": "*PodFailurePolicy",
    "backoffLimitPerIndex": "*int",
    "managedBy": "*string",
    "successPolicy": "*SuccessPolicy",
}
"""And how messages print them."""

NO_BACKOFF_LIMIT = 2**31 - 1


def default(job: Obj) -> None:
    spec = job.setdefault("spec", {})
    job_spec.default_template(spec)
    if spec.get("parallelism") is None:
        if spec.get("completions") is None:
            spec["completions"] = 1
        spec["parallelism"] = 1
    spec.setdefault("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else NO_BACKOFF_LIMIT)
    labels = get(spec, ("template", "metadata", "labels"))
    if labels and not job["metadata"].get("labels"):
        # The same dict: the labels generated for the template become the Job's too, as they do upstream.
        job["metadata"]["labels"] = labels
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed")
    spec.setdefault("manualSelector", False)
    unset_times.show(job.setdefault("status", {}).get("conditions"), unset_times.PROBED)


def prepare_create(job: Obj) -> None:
    job["status"] = {}
    pod_template.prepare(job["spec"]["template"])
    if not job["spec"].get("manualSelector"):
        _generate_selector(job)


def prepare_update(new: Obj, old: Obj) -> None:
    pod_template.prepare(new["spec"]["template"], old["spec"].get("template"))


def prepare_status(new: Obj, old: Obj) -> None:
    """A Job without labels has those of its template, which are part of what a status write keeps."""
    labels = get(old, ("spec", "template", "metadata", "labels"))
    if labels and not new["metadata"].get("labels"):
        new["metadata"]["labels"] = labels


def _generate_selector(job: Obj) -> None:
    """Labels nobody else can have. Where the user has set one of them already, validation will tell."""
    name, uid, spec = job["metadata"].get("name", ""), job["metadata"]["uid"], job["spec"]
    generated = {LEGACY_JOB_NAME: name, JOB_NAME: name, LEGACY_CONTROLLER_UID: uid, CONTROLLER_UID: uid}
    template, meta = spec["template"].setdefault("metadata", {}), job["metadata"]
    given = template.get("labels")
    template["labels"] = generated | (given or {})
    if not meta.get("labels") or meta["labels"] is given:
        meta["labels"] = dict(template["labels"])
    selector = spec.setdefault("selector", {})
    selector["matchLabels"] = {CONTROLLER_UID: uid} | (selector.get("matchLabels") or {})


def validate_create(job: Obj) -> Iterator[FieldError]:
    yield from _validate_generated(job, prefixed=True)
    yield from _validate_spec(job["spec"], None)
    yield from _validate_hostnames(job)


def _validate_spec(spec: Obj, before: Obj | None) -> Iterator[FieldError]:
    yield from job_spec.validate(spec, "spec", before)
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    lenient = before is not None and selectors.has_invalid_label_value(before.get("selector"))
    yield from selectors.validate_label_selector(selector, "spec.selector", allow_invalid_values=lenient)
    picks = workload.compiled(selector)
    if picks is not None:
        yield from workload.validate_match(picks, spec["template"], "spec.template")


def _validate_hostnames(job: Obj) -> Iterator[FieldError]:
    """The pods of an Indexed Job are named after it and their index."""
    completions = job["spec"].get("completions") or 0
    if job_spec.is_indexed(job["spec"]) and completions > 0:
        name = job["metadata"].get("name", "")
        hostname = f"{name}-{completions - 1}"
        if dns1123_label(hostname):
            yield invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {hostname}")


def _validate_generated(job: Obj, *, prefixed: bool) -> Iterator[FieldError]:
    """`prefixed`: the newer names of the labels are asked for as well; Jobs from before they existed go without."""
    spec, meta = job["spec"], job["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    name, uid = meta.get("name", ""), meta.get("uid", "")
    if not uid:
        yield required("metadata.uid")
    labels = get(spec, ("template", "metadata", "labels")) or {}
    generated = {LEGACY_CONTROLLER_UID: uid, LEGACY_JOB_NAME: name}
    if prefixed:
        generated |= {CONTROLLER_UID: uid, JOB_NAME: name}
    for key, value in generated.items():
        yield from _validate_has_label(labels, key, value)
    picks = workload.compiled(selector)
    if picks is not None and not picks.matches(generated):
        yield invalid("spec.selector", told(selector, "Selector"), "`selector` not auto-generated")


def _validate_has_label(labels: Obj, key: str, expected: str) -> Iterator[FieldError]:
    at = "spec.template.metadata.labels"
    if key not in labels:
        yield required(f"{at}[{key}]", f"must be '{expected}'")
    elif labels[key] != expected:
        yield invalid(f"{at}[{key}]", labels, f"must be '{expected}'")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    spec, before = new["spec"], old["spec"]
    labels = get(before, ("template", "metadata", "labels")) or {}
    problems = list(_validate_spec(spec, before))
    yield from _validate_generated(new, prefixed=JOB_NAME in labels and CONTROLLER_UID in labels)
    yield from problems
    yield from _validate_hostnames(new)
    # Upstream looks at the spec of an update twice, and tells each problem twice.
    yield from problems
    yield from _validate_completions(spec, before)
    yield from workload.validate_selector_kept(new, old)
    yield from _validate_template_update(new, old)
    for name, kind in FIXED.items():
        if spec.get(name) != before.get(name):
            yield invalid(f"spec.{name}", told(spec.get(name), kind), IMMUTABLE)


def _validate_completions(spec: Obj, before: Obj) -> Iterator[FieldError]:
    """Indexed Jobs may grow and shrink, all at once."""
    completions = spec.get("completions")
    if not job_spec.is_indexed(spec):
        yield from immutable(completions, before.get("completions"), "spec.completions")
    elif completions is not None and completions != before.get("completions") and completions != spec.get("parallelism"):
        yield invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")


def _validate_template_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """While a Job is suspended and has no pods, where they will run and what they need may still change."""
    template, before = new["spec"]["template"], old["spec"]["template"]
    suspended = old["spec"].get("suspend", False)
    if not suspended or not _is_idle(old):
        if template != before and not same(template, before, "PodTemplateSpec"):
            yield invalid("spec.template", told(template, "PodTemplateSpec"), IMMUTABLE)
        return
    pod = template.get("spec") or {}
    expected = _with_resources_of(_with_directives_of(before.get("spec") or {}, pod), pod)
    if pod != expected and not same(pod, expected, "PodSpec"):
        yield invalid("spec.template.spec", told(pod, "PodSpec"), IMMUTABLE)


def _is_idle(job: Obj) -> bool:
    status = job.get("status") or {}
    was_stopped = job_status.is_true(status.get("conditions"), "Suspended")
    return (status.get("startTime") is None or was_stopped) and not status.get("active")


def _with_directives_of(before: Obj, pod: Obj) -> Obj:
    """`before` with the scheduling directives of `pod`."""
    expected = dict(before)
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        expected.pop(name, None)
        if name in pod:
            expected[name] = pod[name]
    affinity = dict(before.get("affinity") or {})
    affinity.pop("nodeAffinity", None)
    theirs = pod.get("affinity")
    if theirs is not None and "nodeAffinity" in theirs:
        affinity["nodeAffinity"] = theirs["nodeAffinity"]
    expected.pop("affinity", None)
    if affinity or theirs is not None:
        expected["affinity"] = affinity
    return expected


def _with_resources_of(before: Obj, pod: Obj) -> Obj:
    expected = before
    for group in ("containers", "initContainers"):
        ours, theirs = before.get(group) or [], pod.get(group) or []
        if len(ours) == len(theirs) and ours:
            expected = put(expected, (group,), [_with_resources(*pair) for pair in zip(ours, theirs, strict=True)])
    return expected


def _with_resources(ours: Obj, theirs: Obj) -> Obj:
    if ours.get("name") != theirs.get("name"):
        return ours
    kept = {key: value for key, value in ours.items() if key != "resources"}
    return kept | ({"resources": theirs["resources"]} if "resources" in theirs else {})


def warnings(new: Obj, old: Obj | None) -> Iterable[str]:
    if old is None:
        yield from workload.name_warnings(new)
    if old is None or new["spec"] != old["spec"]:
        yield from job_spec.warnings(new["spec"], "spec")


def _state(job: Obj, _now: float) -> str:
    conditions = get(job, ("status", "conditions"))
    for kind in ("Complete", "Failed"):
        if job_status.is_true(conditions, kind):
            return kind
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if job_status.is_true(conditions, kind):
            return kind
    return "Running"


def _completions(job: Obj, _now: float) -> str:
    succeeded, wanted = get(job, ("status", "succeeded"), 0), get(job, ("spec", "completions"))
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = get(job, ("spec", "parallelism"), 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: Obj, now: float) -> str:
    started, ended = get(job, ("status", "startTime")), get(job, ("status", "completionTime"))
    if started is None:
        return ""
    return duration.human((now if ended is None else times.parse(ended)) - times.parse(started))


def _successful(job: Obj) -> str:
    return str(get(job, ("status", "succeeded"), 0))


JOBS = Kind(
    group="batch",
    version="v1",
    kind="Job",
    plural="jobs",
    singular="job",
    categories=("all",),
    schema="io.k8s.api.batch.v1.Job",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    prepare_status=prepare_status,
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=job_status.validate,
    warnings=warnings,
    strategy=Strategy(status=True, generation_of=SPEC, propagation="orphan"),
    selectable=("status.successful",),
    field_of={"status.successful": _successful},
    columns=(
        Column("Status", _state, description="Status of the job."),
        Column("Completions", _completions),
        Column("Duration", _duration, description="Time required to complete the job."),
        AGE,
        *pod_template.COLUMNS,
        workload.selector_column(),
    ),
)
