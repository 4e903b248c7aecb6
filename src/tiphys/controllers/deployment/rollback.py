"""The old way back: an annotation that names the revision whose template the Deployment shall have again."""

from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.controllers import templates
from tiphys.controllers.deployment.revisions import NOT_COPIED, ROLLBACK_TO, last_revision, revision
from tiphys.controllers.deployment.rollout import Rollout
from tiphys.controllers.numbers import whole
from tiphys.controllers.plan import Note, Plan, Update
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, put


def wanted(deployment: Obj) -> int | None:
    """Zero: the revision before the present one."""
    return whole(meta.annotations(deployment).get(ROLLBACK_TO))


def plan(rollout: Rollout) -> Plan:
    deployment = rollout.stored
    number = wanted(deployment) or last_revision(rollout.sets)
    if number == 0:
        return _give_up(deployment, "DeploymentRollbackRevisionNotFound", "Unable to find last revision.")
    rs = next((each for each in rollout.sets if revision(each) == number), None)
    if rs is None:
        return _give_up(deployment, "DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.")
    name = meta.name(deployment)
    if templates.same(deployment["spec"]["template"], rs["spec"]["template"]):
        message = f'The rollback revision contains the same template as current deployment "{name}"'
        return _give_up(deployment, "DeploymentRollbackTemplateUnchanged", message)
    template = rs["spec"]["template"]
    labels = {key: value for key, value in (template["metadata"].get("labels") or {}).items() if key != templates.HASH_LABEL}
    back = put(deployment, ("spec", "template"), put(template, ("metadata", "labels"), labels))
    annotations = {key: value for key, value in meta.annotations(deployment).items() if key in NOT_COPIED}
    annotations |= {key: value for key, value in meta.annotations(rs).items() if key not in NOT_COPIED}
    told = Note(deployment, "DeploymentRollback", f'Rolled back deployment "{name}" to revision {number}')
    return Plan((_cleared(back, annotations, told),))


def _give_up(deployment: Obj, reason: str, message: str) -> Plan:
    return Plan((_cleared(deployment, meta.annotations(deployment), Note(deployment, reason, message, "Warning")),))


def _cleared(deployment: Obj, annotations: dict[str, str], told: Note) -> Update:
    kept = {key: value for key, value in annotations.items() if key != ROLLBACK_TO}
    return Update(DEPLOYMENTS, put(deployment, ("metadata", "annotations"), kept), done=told)
