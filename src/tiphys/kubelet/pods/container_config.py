"""What the runtime is told of one container."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiphys.kubelet.cri import observed
from tiphys.kubelet.names import shown
from tiphys.kubelet.pods.environment import CannotMake, expand
from tiphys.kubelet.pods.hashing import container_hash
from tiphys.kubelet.pods.resources import linux_resources
from tiphys.kubelet.pods.sandbox_config import groups, groups_policy, namespaces
from tiphys.machinery.tree import Obj

# Of /proc and /sys, what upstream hides from a container and what it may only read (pkg/securitycontext/util.go).
MASKED = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
)
READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
DEFAULT_PATH = "PATH"


@dataclass(frozen=True, slots=True)
class Made:
    """What has been prepared for the container."""

    attempt: int
    restarts: int
    image_id: str
    image_user: str
    environment: Mapping[str, str]
    mounts: Sequence[Obj]
    memory: int
    """Bytes of the machine."""
    target: str = ""
    """The id of the container whose processes it is to see, if it is."""


def container_config(pod: Obj, container: Obj, made: Made) -> Obj:
    meta = pod["metadata"]
    name = container["name"]
    return {
        "metadata": {"name": name, "attempt": made.attempt},
        "image": {"image": made.image_id, "user_specified_image": container["image"]},
        "command": [expand(each, made.environment) for each in container.get("command") or ()],
        "args": [expand(each, made.environment) for each in container.get("args") or ()],
        "working_dir": container.get("workingDir") or "",
        "envs": [{"key": key, "value": value.encode(errors="surrogateescape")} for key, value in made.environment.items()],
        "mounts": list(made.mounts),
        "labels": {
            observed.POD_NAME: meta["name"],
            observed.POD_NAMESPACE: meta["namespace"],
            observed.POD_UID: meta["uid"],
            observed.CONTAINER_NAME: name,
        },
        "annotations": {
            observed.CONTAINER_HASH: container_hash(container),
            observed.RESTART_COUNT: str(made.restarts),
            observed.MESSAGE_PATH: container.get("terminationMessagePath") or "",
            observed.MESSAGE_POLICY: container.get("terminationMessagePolicy") or "File",
            observed.GRACE_PERIOD: str(pod["spec"].get("terminationGracePeriodSeconds", 30)),
        },
        "log_path": f"{name}/{made.attempt}.log",
        "stdin": bool(container.get("stdin")),
        "stdin_once": bool(container.get("stdinOnce")),
        "tty": bool(container.get("tty")),
        "linux": {
            "resources": linux_resources(pod, container, made.memory),
            "security_context": _security(pod, container, made),
        },
    }


def _security(pod: Obj, container: Obj, prepared: Made) -> Obj:
    image_user = prepared.image_user
    of_pod = pod["spec"].get("securityContext") or {}
    context = {**of_pod, **{key: value for key, value in (container.get("securityContext") or {}).items() if value is not None}}
    _check_root(pod, container, context, image_user)
    privileged = bool(context.get("privileged"))
    hidden = not privileged and context.get("procMount") != "Unmasked"
    added = context.get("capabilities") or {}
    made: Obj = {
        "capabilities": {"add_capabilities": added.get("add") or [], "drop_capabilities": added.get("drop") or []},
        "privileged": privileged,
        "namespace_options": namespaces(pod, prepared.target),
        "readonly_rootfs": bool(context.get("readOnlyRootFilesystem")),
        "supplemental_groups": groups(pod),
        "no_new_privs": context.get("allowPrivilegeEscalation") is False,
        "masked_paths": list(MASKED) if hidden else [],
        "readonly_paths": list(READ_ONLY) if hidden else [],
        "seccomp": _seccomp(context, privileged=privileged),
        "supplemental_groups_policy": groups_policy(pod),
    }
    if context.get("runAsUser") is not None:
        made["run_as_user"] = {"value": context["runAsUser"]}
    elif image_user.isdecimal():
        made["run_as_user"] = {"value": int(image_user)}
    if context.get("runAsGroup") is not None:
        made["run_as_group"] = {"value": context["runAsGroup"]}
        made.setdefault("run_as_user", {"value": 0})
    return made


def _seccomp(context: Obj, *, privileged: bool) -> Obj:
    asked = context.get("seccompProfile")
    if privileged or not asked or asked["type"] == "Unconfined":
        return {"profile_type": 1}
    if asked["type"] == "Localhost":
        return {"profile_type": 2, "localhost_ref": asked.get("localhostProfile") or ""}
    return {"profile_type": 0}


def _check_root(pod: Obj, container: Obj, context: Obj, image_user: str) -> None:
    if not context.get("runAsNonRoot"):
        return
    asked = context.get("runAsUser")
    named = f'(pod: "{shown(pod)}", container: {container["name"]})'
    if asked is not None:
        if asked == 0:
            raise CannotMake(f"container's runAsUser breaks non-root policy {named}")
        return
    if image_user and not image_user.isdecimal():
        raise CannotMake(
            f"container has runAsNonRoot and image has non-numeric user ({image_user}), cannot verify user is non-root {named}"
        )
    if not image_user or int(image_user) == 0:
        raise CannotMake(f"container has runAsNonRoot and image will run as root {named}")
