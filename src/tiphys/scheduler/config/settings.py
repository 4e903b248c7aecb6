"""A configuration as values, with upstream's defaults."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tiphys.machinery import duration
from tiphys.machinery.tree import Obj
from tiphys.scheduler.config import policy, validating
from tiphys.scheduler.config.reading import BadConfiguration

DEFAULT_SCHEDULER = "default-scheduler"
INITIAL_BACKOFF, LONGEST_BACKOFF = 1, 10
_EXTENDER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    scheduler: str = DEFAULT_SCHEDULER
    plugins: Obj = field(default_factory=dict)
    """Per extension point, what is enabled and disabled beside the defaults."""
    arguments: dict[str, Obj] = field(default_factory=dict)
    """Of plugins, by name."""


@dataclass(frozen=True, slots=True)
class ExtenderSettings:
    url: str
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 1
    https: bool = False
    tls: Obj = field(default_factory=dict)
    timeout: float = _EXTENDER_SECONDS
    knows_nodes: bool = False
    """It has a cache of its own: names of nodes are enough for it."""
    resources: frozenset[str] = frozenset()
    """It is asked about pods that want one of these; about all, if there are none."""
    ignored_resources: frozenset[str] = frozenset()
    """Of these, those that are none of the scheduler's own business."""
    ignorable: bool = False


@dataclass(frozen=True, slots=True)
class LeaderSettings:
    elect: bool = True
    duration: float = 15.0
    name: str = "kube-scheduler"
    namespace: str = "kube-system"


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    profiles: tuple[ProfileSettings, ...] = (ProfileSettings(),)
    extenders: tuple[ExtenderSettings, ...] = ()
    leader: LeaderSettings = LeaderSettings()
    kubeconfig: str = ""
    initial_backoff: float = INITIAL_BACKOFF
    longest_backoff: float = LONGEST_BACKOFF


def of(tree: Obj) -> SchedulerSettings:
    """Of a configuration or a policy that has been read. Raises BadConfiguration."""
    if tree.get("kind") == "Policy":
        tree = policy.configuration(tree)
    profiles = _named(tree.get("profiles") or [{}])
    problems = list(validating.problems({**tree, "profiles": profiles}))
    if problems:
        told = ", ".join(map(str, problems))
        raise BadConfiguration(told if len(problems) == 1 else f"[{told}]")
    elected = tree.get("leaderElection") or {}
    return SchedulerSettings(
        profiles=tuple(_profile(each) for each in profiles),
        extenders=tuple(_extender(each) for each in tree.get("extenders") or ()),
        leader=LeaderSettings(
            elect=elected.get("leaderElect") is not False,
            duration=_seconds(elected, "leaseDuration", 15.0),
            name=elected.get("resourceName") or "kube-scheduler",
            namespace=elected.get("resourceNamespace") or "kube-system",
        ),
        kubeconfig=(tree.get("clientConnection") or {}).get("kubeconfig") or "",
        initial_backoff=tree.get("podInitialBackoffSeconds", INITIAL_BACKOFF),
        longest_backoff=tree.get("podMaxBackoffSeconds", LONGEST_BACKOFF),
    )


def _named(profiles: Sequence[Obj]) -> list[Obj]:
    """Only a single profile may go without a name."""
    if len(profiles) == 1 and profiles[0].get("schedulerName") is None:
        return [{**profiles[0], "schedulerName": DEFAULT_SCHEDULER}]
    return list(profiles)


def _profile(tree: Obj) -> ProfileSettings:
    arguments = {each.get("name", ""): each.get("args") or {} for each in tree.get("pluginConfig") or ()}
    return ProfileSettings(tree["schedulerName"], tree.get("plugins") or {}, arguments)


def _extender(tree: Obj) -> ExtenderSettings:
    managed = tree.get("managedResources") or ()
    return ExtenderSettings(
        url=(tree.get("urlPrefix") or "").rstrip("/"),
        filter_verb=tree.get("filterVerb") or "",
        prioritize_verb=tree.get("prioritizeVerb") or "",
        preempt_verb=tree.get("preemptVerb") or "",
        bind_verb=tree.get("bindVerb") or "",
        weight=tree.get("weight") or 0,
        https=bool(tree.get("enableHTTPS")),
        tls=tree.get("tlsConfig") or {},
        timeout=_seconds(tree, "httpTimeout", _EXTENDER_SECONDS),
        knows_nodes=bool(tree.get("nodeCacheCapable")),
        resources=frozenset(each.get("name", "") for each in managed),
        ignored_resources=frozenset(each.get("name", "") for each in managed if each.get("ignoredByScheduler")),
        ignorable=bool(tree.get("ignorable")),
    )


def _seconds(tree: Obj, name: str, default: float) -> float:
    given = duration.parse(tree.get(name) or "0s") / duration.SECOND
    return given or default
