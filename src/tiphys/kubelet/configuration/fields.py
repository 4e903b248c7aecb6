"""The fields of KubeletConfiguration v1beta1 as facts: their types and their defaults.

https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/. Types are Go's; `duration` is written like `1m30s`.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

Type = Literal[
    "bool", "int32", "int64", "float64", "string", "duration", "[]string", "map[string]string", "map[string]bool", "any"
]


@dataclass(frozen=True, slots=True)
class Field:
    type: Type
    default: Any = None
    """None: the field is absent unless it is given."""
    pointer: bool = False
    """An empty value that is given stays; of other fields it counts as not given."""


Fields = dict[str, "Field | Fields"]

_ON, _OFF = Field("bool", True, pointer=True), Field("bool", False, pointer=True)
_FLAG, _TEXT, _TEXTS, _COUNT = Field("bool"), Field("string"), Field("[]string"), Field("int32")
_AMOUNTS, _TREE, _TIME = Field("map[string]string"), Field("any"), Field("duration")


DEFAULT_EVICTION_HARD: Final = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}


def _number(default: int) -> Field:
    return Field("int32", default, pointer=True)


def _text(default: str) -> Field:
    return Field("string", default)


def _time(default: str) -> Field:
    return Field("duration", default)


FIELDS: Final[Fields] = {
    "enableServer": _ON,
    "staticPodPath": _TEXT,
    "podLogsDir": _text("/var/log/pods"),
    "syncFrequency": _time("1m0s"),
    "fileCheckFrequency": _time("20s"),
    "httpCheckFrequency": _time("20s"),
    "staticPodURL": _TEXT,
    "staticPodURLHeader": _TREE,
    "address": _text("0.0.0.0"),
    "port": Field("int32", 10250),
    "readOnlyPort": _COUNT,
    "tlsCertFile": _TEXT,
    "tlsPrivateKeyFile": _TEXT,
    "tlsCipherSuites": _TEXTS,
    "tlsCurvePreferences": _TREE,
    "tlsMinVersion": _TEXT,
    "rotateCertificates": _FLAG,
    "serverTLSBootstrap": _FLAG,
    "authentication": {
        "x509": {"clientCAFile": _TEXT},
        "webhook": {"enabled": _ON, "cacheTTL": _time("2m0s")},
        "anonymous": {"enabled": _OFF},
    },
    "authorization": {
        "mode": _text("Webhook"),
        "webhook": {"cacheAuthorizedTTL": _time("5m0s"), "cacheUnauthorizedTTL": _time("30s")},
    },
    "registryPullQPS": _number(5),
    "registryBurst": Field("int32", 10),
    "imagePullCredentialsVerificationPolicy": _text("NeverVerifyPreloadedImages"),
    "preloadedImagesVerificationAllowlist": _TEXTS,
    "eventRecordQPS": _number(50),
    "eventBurst": Field("int32", 100),
    "enableDebuggingHandlers": _ON,
    "enableContentionProfiling": _FLAG,
    "healthzPort": _number(10248),
    "healthzBindAddress": _text("127.0.0.1"),
    "oomScoreAdj": _number(-999),
    # Without a domain, pods would find each other by no short name; upstream leaves that to who installs it.
    "clusterDomain": _text("cluster.local"),
    "clusterDNS": _TEXTS,
    "streamingConnectionIdleTimeout": _time("4h0m0s"),
    "nodeStatusUpdateFrequency": _time("10s"),
    "nodeStatusReportFrequency": _time("5m0s"),
    "nodeLeaseDurationSeconds": Field("int32", 40),
    "imageMinimumGCAge": _time("2m0s"),
    "imageMaximumGCAge": _time("0s"),
    "imageGCHighThresholdPercent": _number(85),
    "imageGCLowThresholdPercent": _number(80),
    "volumeStatsAggPeriod": _time("1m0s"),
    "kubeletCgroups": _TEXT,
    "systemCgroups": _TEXT,
    "cgroupRoot": _TEXT,
    "cgroupsPerQOS": _ON,
    "cgroupDriver": _text("cgroupfs"),
    "cpuManagerPolicy": _text("none"),
    "singleProcessOOMKill": Field("bool", pointer=True),
    "cpuManagerPolicyOptions": _AMOUNTS,
    "cpuManagerReconcilePeriod": _time("10s"),
    "memoryManagerPolicy": _text("None"),
    "topologyManagerPolicy": _text("none"),
    "topologyManagerScope": _text("container"),
    "topologyManagerPolicyOptions": _AMOUNTS,
    "qosReserved": _AMOUNTS,
    "runtimeRequestTimeout": _time("2m0s"),
    "hairpinMode": _text("promiscuous-bridge"),
    "maxPods": Field("int32", 110),
    "podCIDR": _TEXT,
    "podPidsLimit": Field("int64", -1, pointer=True),
    "resolvConf": Field("string", "/etc/resolv.conf", pointer=True),
    "runOnce": _FLAG,
    "cpuCFSQuota": _ON,
    "cpuCFSQuotaPeriod": _time("100ms"),
    "nodeStatusMaxImages": _number(50),
    "maxOpenFiles": Field("int64", 1000000),
    "contentType": _text("application/vnd.kubernetes.protobuf"),
    "kubeAPIQPS": _number(50),
    "kubeAPIBurst": Field("int32", 100),
    "serializeImagePulls": _ON,
    "maxParallelImagePulls": Field("int32", pointer=True),
    "evictionHard": Field("map[string]string", DEFAULT_EVICTION_HARD, pointer=True),
    "evictionSoft": _AMOUNTS,
    "evictionSoftGracePeriod": _AMOUNTS,
    "evictionPressureTransitionPeriod": _time("5m0s"),
    "evictionMaxPodGracePeriod": _COUNT,
    "evictionMinimumReclaim": _AMOUNTS,
    "mergeDefaultEvictionSettings": _OFF,
    "podsPerCore": _COUNT,
    "enableControllerAttachDetach": _ON,
    "protectKernelDefaults": _FLAG,
    "makeIPTablesUtilChains": _ON,
    "iptablesMasqueradeBit": _number(14),
    "iptablesDropBit": _number(15),
    "featureGates": Field("map[string]bool"),
    "failSwapOn": _ON,
    "memorySwap": {"swapBehavior": _TEXT},
    "containerLogMaxSize": _text("10Mi"),
    "containerLogMaxFiles": _number(5),
    "containerLogMaxWorkers": _number(1),
    "containerLogMonitorInterval": _time("10s"),
    "configMapAndSecretChangeDetectionStrategy": _text("Watch"),
    "systemReserved": _AMOUNTS,
    "kubeReserved": _AMOUNTS,
    "reservedSystemCPUs": _TEXT,
    "showHiddenMetricsForVersion": _TEXT,
    "systemReservedCgroup": _TEXT,
    "kubeReservedCgroup": _TEXT,
    "enforceNodeAllocatable": Field("[]string", ["pods"], pointer=True),
    "allowedUnsafeSysctls": _TEXTS,
    "volumePluginDir": _text("/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"),
    "providerID": _TEXT,
    "kernelMemcgNotification": _FLAG,
    "logging": {
        "format": _text("text"),
        "flushFrequency": Field("any", "5s"),
        "verbosity": Field("int64", 0, pointer=True),
        "vmodule": _TREE,
        "options": _TREE,
    },
    "enableSystemLogHandler": _ON,
    "enableSystemLogQuery": Field("bool", pointer=True),
    "shutdownGracePeriod": _time("0s"),
    "shutdownGracePeriodCriticalPods": _time("0s"),
    "shutdownGracePeriodByPodPriority": _TREE,
    "crashLoopBackOff": {"maxContainerRestartPeriod": _TIME},
    "reservedMemory": _TREE,
    "enableProfilingHandler": _ON,
    "enableDebugFlagsHandler": _ON,
    "seccompDefault": _OFF,
    "memoryThrottlingFactor": Field("float64", 0.9, pointer=True),
    "memoryReservationPolicy": _text("None"),
    "registerWithTaints": _TREE,
    "registerNode": _ON,
    "tracing": _TREE,
    "localStorageCapacityIsolation": _ON,
    "containerRuntimeEndpoint": _text("unix:///run/containerd/containerd.sock"),
    "imageServiceEndpoint": _TEXT,
    # Upstream's default is to refuse such machines; here both versions of cgroups are served alike.
    "failCgroupV1": _OFF,
    "userNamespaces": {"idsPerPod": Field("int64", pointer=True)},
}

USED: Final = frozenset(
    [
        "address",
        "allowedUnsafeSysctls",
        "authentication",
        "authorization",
        "cgroupDriver",
        "cgroupRoot",
        "clusterDNS",
        "clusterDomain",
        "containerLogMaxFiles",
        "containerLogMaxSize",
        "containerLogMonitorInterval",
        "containerRuntimeEndpoint",
        "crashLoopBackOff",
        "enableDebuggingHandlers",
        "enableServer",
        "enforceNodeAllocatable",
        "evictionHard",
        "evictionMaxPodGracePeriod",
        "evictionMinimumReclaim",
        "evictionPressureTransitionPeriod",
        "evictionSoft",
        "evictionSoftGracePeriod",
        "failCgroupV1",
        "failSwapOn",
        "featureGates",
        "fileCheckFrequency",
        "healthzBindAddress",
        "healthzPort",
        "httpCheckFrequency",
        "imageGCHighThresholdPercent",
        "imageGCLowThresholdPercent",
        "imageMaximumGCAge",
        "imageMinimumGCAge",
        "kubeReserved",
        "localStorageCapacityIsolation",
        "logging",
        "maxParallelImagePulls",
        "maxPods",
        "nodeLeaseDurationSeconds",
        "nodeStatusMaxImages",
        "nodeStatusReportFrequency",
        "nodeStatusUpdateFrequency",
        "podCIDR",
        "podLogsDir",
        "podPidsLimit",
        "port",
        "providerID",
        "readOnlyPort",
        "registerNode",
        "registerWithTaints",
        "registryBurst",
        "registryPullQPS",
        "resolvConf",
        "rotateCertificates",
        "serializeImagePulls",
        "serverTLSBootstrap",
        "shutdownGracePeriod",
        "shutdownGracePeriodByPodPriority",
        "shutdownGracePeriodCriticalPods",
        "staticPodPath",
        "staticPodURL",
        "staticPodURLHeader",
        "systemReserved",
        "tlsCertFile",
        "tlsPrivateKeyFile",
    ]
)
"""What this kubelet does something with. Others may be given, so that files can be shared with upstream's kubelet."""
