"""pods/eviction: a pod is deleted, if its disruption budget allows."""

from collections.abc import AsyncIterator
from dataclasses import replace

from tiphys.api.core.pods import PODS
from tiphys.api.policy import evictions
from tiphys.api.policy.poddisruptionbudgets import PODDISRUPTIONBUDGETS
from tiphys.apiserver.call import Call
from tiphys.apiserver.rest import answers, delete, deleting, storing, tracking
from tiphys.apiserver.subresources import bodies, disruption
from tiphys.base.http.messages import Response
from tiphys.machinery import errors, selectors, times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.patch.managed import track_update
from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj


async def create(call: Call) -> Response:
    eviction = bodies.read(call, bodies.EVICTION, also=("policy/v1beta1",))
    name = call.info.name
    if (problem := evictions.check(eviction, name)) is not None:
        raise problem
    attributes = call.attributes("CREATE", name, eviction, None, {})
    await call.backend.admission.admit(attributes)
    await call.backend.admission.validate(attributes)
    _check_dry_run(call.query.get("dryRun"), (eviction.get("deleteOptions") or {}).get("dryRun"))
    options = evictions.delete_options(eviction, call.query.get("dryRun"))
    if options.get("dryRun"):
        call.query["dryRun"] = options["dryRun"]
    await _evict(call, options)
    return answers.encoded(call, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}, 201)


def _check_dry_run(in_url: list[str] | None, in_body: list[str] | None) -> None:
    if in_url and in_body and in_url != in_body:
        told = f"Non-matching dry-run options in request and content: [{' '.join(in_url)}] and [{' '.join(in_body)}]"
        raise ApiError(500, "", told)


async def _evict(call: Call, options: Obj) -> None:
    pod = await _pod(call)
    tree = pod.tree()
    if not disruption.may_ignore_budgets(tree):
        budgets = [each async for each in _budgets(call, tree)]
        if len(budgets) > 1:
            told = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise ApiError(500, "", told)
        if budgets:
            budget = budgets[0]
            if disruption.unhealthy_may_go(tree, budget.tree()):
                await _go_if_unchanged(call, pod, options, budget.tree()["metadata"]["name"])
                return
            await _spend(call, budget)
    await _go(call, options)


async def _pod(call: Call) -> Record:
    found = await call.backend.store.latest(PODS.prefix, f"{call.namespace}/{call.info.name}")
    if found is None:
        raise errors.not_found("", "pods", call.info.name)
    return found


async def _budgets(call: Call, pod: Obj) -> AsyncIterator[Record]:
    listing = await call.backend.store.list(PODDISRUPTIONBUDGETS.prefix, call.namespace)
    labels = pod["metadata"].get("labels") or {}
    for record in listing.records:
        try:
            selector = selectors.from_tree(record.tree()["spec"].get("selector"))
        except ValueError:
            continue  # a selector that cannot be read selects nothing
        if selector.matches(labels):
            yield record


async def _spend(call: Call, budget: Record) -> None:
    async def attempt() -> None:
        current = await call.backend.store.latest(budget.bucket, budget.name)
        if current is not None:
            old = current.tree()
            await storing.replace(call, current, _tracked(call, disruption.spend(old, call.info.name, call.now), old))

    await storing.read_modify_write(attempt, call)


def _tracked(call: Call, budget: Obj, old: Obj) -> Obj:
    """The server itself comes to own what it has changed."""
    kind = PODDISRUPTIONBUDGETS
    node, reset = call.backend.catalogue.of(kind).node, tracking.reset_of(kind, "status")
    managed = track_update(budget, old, "kube-apiserver", kind.api_version, node, call.now, subresource="status", reset=reset)
    budget = {**budget, "metadata": dict(budget["metadata"])}
    tracking.set_managed(budget, managed)
    return budget


async def _go_if_unchanged(call: Call, pod: Record, options: Obj, budget: str) -> None:
    """The pod goes only while it is as unhealthy as it was when that was decided."""
    asked = options.get("preconditions") or {}
    bound = {**options, "preconditions": {**asked, "resourceVersion": str(pod.revision)}}
    try:
        await _go(call, bound)
    except ApiError as problem:
        if problem.reason == "Conflict" and "resourceVersion" not in asked:
            raise disruption.too_many(budget) from None
        raise


async def _go(call: Call, options: Obj) -> None:
    """Note the reason in the pod's conditions, then delete it."""

    async def note() -> Record:
        current = await _pod(call)
        tree = current.tree()
        deleting.check_preconditions(PODS, tree, options)
        return await storing.replace(call, current, {**tree, "status": _with_reason(tree.get("status") or {}, call.now)})

    noted = await storing.read_modify_write(note, call)
    preconditions = options.get("preconditions") or {}
    if "resourceVersion" in preconditions:
        options = {**options, "preconditions": {**preconditions, "resourceVersion": str(noted.revision)}}
    as_delete = replace(call, info=replace(call.info, verb="delete", subresource=""))
    await delete.delete_object(as_delete, call.info.name, options)


def _with_reason(status: Obj, now: float) -> Obj:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": times.rfc3339(now),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    kept = [each for each in status.get("conditions") or () if each.get("type") != "DisruptionTarget"]
    return {**status, "conditions": [*kept, condition]}
