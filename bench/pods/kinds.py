"""The thirty-odd kinds of pods."""

from typing import Any

from bench.pods.wishes import Wish, ended, ready, restarted, run, running_only, unscheduled, waiting, wish
from tiphys.machinery.tree import Obj

EXACT = {"limits": {"cpu": "50m", "memory": "32Mi"}, "requests": {"cpu": "50m", "memory": "32Mi"}}
LOOSE = {"requests": {"cpu": "10m"}, "limits": {"memory": "64Mi"}}
SERVES = "mkdir -p /tmp; echo hello > /tmp/index.html; httpd -f -p 8080 -h /tmp"
FIRST_FAILS = "if [ -e /data/seen ]; then exit 0; fi; touch /data/seen; exit 1"
SCRATCH = [{"name": "data", "emptyDir": {}}]
DATA = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
CHECKS = (
    'test "$(cat /etc/files/a)" = one && test "$(cat /etc/hidden/key)" = secret && test "$FROM" = one && test "$ALL_a" = one'
)


def exec_probe(script: str, **more: Any) -> Obj:
    return {"exec": {"command": ["sh", "-c", script]}, "periodSeconds": 1, **more}


def _plain() -> list[Wish]:
    two = [run(), run()]
    hooks = {"postStart": {"exec": {"command": ["true"]}}, "preStop": {"sleep": {"seconds": 1}}}
    return [
        wish("plain", ready, run()),
        wish("guaranteed", ready, run(resources=EXACT)),
        wish("burstable", ready, run(resources=LOOSE)),
        wish("two", ready, *two),
        wish("shared", ready, *two, shareProcessNamespace=True),
        wish("named", ready, run(), hostname="host", subdomain="sub"),
        wish("full-name", ready, run(), hostname="host", subdomain="sub", setHostnameAsFQDN=True),
        wish("host-network", ready, run(), hostNetwork=True),
        wish("user", ready, run(securityContext={"runAsUser": 1000, "runAsGroup": 1000})),
        wish("group", ended("Succeeded"), run("test $(stat -c %g /data) = 2000", **DATA), volumes=SCRATCH,
             securityContext={"fsGroup": 2000}, restartPolicy="Never"),
        wish("aliases", ended("Succeeded"), run("grep -q fellow /etc/hosts"), restartPolicy="Never",
             hostAliases=[{"ip": "10.0.0.9", "hostnames": ["fellow"]}]),
        wish("gated", running_only, run(), readinessGates=[{"conditionType": "example.com/open"}]),
        wish("hooks", ready, run(lifecycle=hooks)),
        wish("nowhere", unscheduled, run(), nodeSelector={"no": "such"}),
        wish("too-big", unscheduled, run(resources={"requests": {"cpu": "500"}})),
    ]  # fmt: skip


def _init() -> list[Wish]:
    sidecar = {**run(), "name": "beside", "restartPolicy": "Always"}
    first, fails = {**run("exit 0"), "name": "first"}, {**run("exit 3"), "name": "first"}
    return [
        wish("init", ready, run(), initContainers=[first, {**first, "name": "second"}]),
        wish("init-fails", ended("Failed"), run(), initContainers=[fails], restartPolicy="Never"),
        wish("init-again", waiting("CrashLoopBackOff", 1), run(), initContainers=[fails]),
        wish("sidecar", ready, run(), initContainers=[sidecar]),
        wish("sidecar-ends", ended("Succeeded"), run("exit 0"), initContainers=[sidecar], restartPolicy="Never"),
        wish("sidecar-probed", ready, run(), initContainers=[{**sidecar, "startupProbe": exec_probe("true")}]),
    ]


def _probes() -> list[Wish]:
    http, tcp = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}, {"tcpSocket": {"port": 8080}, "periodSeconds": 1}
    started = exec_probe("test -e /tmp/up", failureThreshold=30)
    return [
        wish("http", ready, run(SERVES, readinessProbe=http)),
        wish("tcp", ready, run(SERVES, readinessProbe=tcp, livenessProbe=tcp)),
        wish("starting", ready, run(f"mkdir /tmp; sleep 2; touch /tmp/up; {SERVES}", startupProbe=started, livenessProbe=http)),
        wish("never-ready", running_only, run(readinessProbe=exec_probe("false"))),
        wish("not-alive", restarted(1), run(livenessProbe=exec_probe("false", failureThreshold=1))),
    ]


def _ends() -> list[Wish]:
    crash = waiting("CrashLoopBackOff", 1)
    told = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    return [
        wish("done", ended("Succeeded"), run("exit 0"), restartPolicy="Never"),
        wish("failed", ended("Failed"), run("exit 3"), restartPolicy="Never"),
        wish("one-of-two", ended("Failed"), run("exit 0"), run("exit 4"), restartPolicy="Never"),
        wish("second-try", ended("Succeeded"), run(FIRST_FAILS, **DATA), volumes=SCRATCH, restartPolicy="OnFailure"),
        wish("crashes", crash, run("exit 5")),
        wish("message", ended("Succeeded"), run("echo -n bye > /dev/termination-log"), restartPolicy="Never"),
        wish("last-words", ended("Failed"), run("echo oh no; exit 1", **told), restartPolicy="Never"),
        wish("too-long", ended("Failed"), run(), activeDeadlineSeconds=25),
        wish(
            "no-memory",
            ended("Failed"),
            run("tail /dev/zero; sleep 1; exit 3", resources={"limits": {"memory": "16Mi"}}),
            restartPolicy="Never",
        ),
        wish("no-command", waiting("CrashLoopBackOff", 1), {**run(), "command": ["/no/such/file"]}),
        wish("no-image", waiting("ErrImageNeverPull"), {**run(), "image": "docker.io/library/none:1"}),
    ]


def _volumes() -> list[Wish]:
    volumes: list[Obj] = [
        {"name": "files", "configMap": {"name": "settings"}},
        {"name": "hidden", "secret": {"secretName": "hidden"}},
    ]
    mounts = [{"name": "files", "mountPath": "/etc/files"}, {"name": "hidden", "mountPath": "/etc/hidden"}]
    variables = [{"name": "FROM", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}}]
    every = [{"prefix": "ALL_", "configMapRef": {"name": "settings"}}]
    checked = run(CHECKS, volumeMounts=mounts, env=variables, envFrom=every)
    absent = {"configMapKeyRef": {"name": "absent", "key": "a"}}
    own: list[Obj] = [{"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}]
    own.append({"configMap": {"name": "settings", "items": [{"key": "a", "path": "b"}]}})
    projected = {"name": "all", "projected": {"sources": own}}
    reads = run("grep -q projected /all/name && grep -q one /all/b", volumeMounts=[{"name": "all", "mountPath": "/all"}])
    missing = [{"name": "files", "configMap": {"name": "absent"}}]
    memory = [{"name": "data", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}}]
    return [
        wish("volumes", ended("Succeeded"), checked, volumes=volumes, restartPolicy="Never"),
        wish("projected", ended("Succeeded"), reads, volumes=[projected], restartPolicy="Never"),
        wish("no-key", waiting("CreateContainerConfigError"), run(env=[{"name": "X", "valueFrom": absent}])),
        wish("no-volume", waiting("ContainerCreating"), run(volumeMounts=mounts[:1]), volumes=missing),
        wish("memory", ended("Succeeded"), run("touch /data/x", **DATA), volumes=memory, restartPolicy="Never"),
        wish("not-root", waiting("CreateContainerConfigError"), run(securityContext={"runAsNonRoot": True})),
    ]


KINDS: tuple[Wish, ...] = (*_plain(), *_init(), *_probes(), *_ends(), *_volumes())
