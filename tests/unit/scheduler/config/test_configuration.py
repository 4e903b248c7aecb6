"""KubeSchedulerConfiguration and Policy: what they say, and what is wrong with them.

v1.36.4 pkg/scheduler/apis/config/v1/default_plugins.go, framework/runtime/framework.go (expandMultiPointPlugins) and
pkg/scheduler/apis/config/validation.
"""

from typing import Any

import pytest

from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.config import settings
from tiphys.scheduler.config.policy import PREDICATES, PRIORITIES
from tiphys.scheduler.config.reading import BadConfiguration, read
from tiphys.scheduler.framework import Effort, Profile
from tiphys.scheduler.profiles import build, default_profile
from tiphys.scheduler.testing import Bench, bound, make_node, make_pod

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def given(body: str) -> settings.SchedulerSettings:
    return settings.of(read((HEAD + body).encode()))


def profile(body: str) -> Profile:
    """Of a configuration with one profile, of which `body` is a part."""
    (found,) = given(f"profiles:\n- {body}").profiles
    return build(found, Cluster())


def names(plugins: Any) -> list[str]:
    return [each.name for each in plugins]


def weights(found: Profile) -> dict[str, int]:
    return {each.plugin.name: each.weight for each in found.scorers}


def test_without_profiles_there_is_the_default_one():
    (found,) = given("").profiles
    made, usual = build(found, Cluster()), default_profile(Cluster())
    assert made.scheduler == "default-scheduler"
    assert (names(made.filters), weights(made)) == (names(usual.filters), weights(usual))
    assert names(made.narrowers) == ["NodeAffinity", "VolumeRestrictions", "VolumeBinding", "VolumeZone", "DynamicResources"]
    assert given("").leader == settings.LeaderSettings(True, 15.0, "kube-scheduler", "kube-system")


def test_a_plugin_is_turned_off_everywhere_or_at_one_point():
    off = profile("plugins: {multiPoint: {disabled: [{name: PodTopologySpread}]}}")
    assert "PodTopologySpread" not in names(off.filters)
    assert "PodTopologySpread" not in weights(off)
    here = profile("plugins: {score: {disabled: [{name: PodTopologySpread}]}}")
    assert "PodTopologySpread" in names(here.filters)
    assert "PodTopologySpread" not in weights(here)


def test_all_are_turned_off_and_some_on_again():
    found = profile('plugins: {filter: {disabled: [{name: "*"}], enabled: [{name: NodeName}, {name: TaintToleration}]}}')
    assert names(found.filters) == ["NodeName", "TaintToleration"]
    assert profile('plugins: {score: {disabled: [{name: "*"}]}}').scorers == ()


def test_weights():
    found = profile("plugins: {score: {enabled: [{name: ImageLocality, weight: 7}, {name: NodeAffinity}]}}")
    assert weights(found)["ImageLocality"] == 7
    # Those that are set again at the point come first.
    assert list(weights(found))[:2] == ["ImageLocality", "NodeAffinity"]
    assert weights(profile("plugins: {multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}}"))["NodeAffinity"] == 9


def test_preemption_is_a_plugin_with_arguments():
    off = profile("plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}}")
    assert off.preemption is None
    found = profile("pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 50}}]")
    assert found.preemption == Effort(50, 100)


def test_several_schedulers_by_name():
    found = given("profiles: [{schedulerName: a}, {schedulerName: b, plugins: {bind: {}}}]").profiles
    assert [each.scheduler for each in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("profiles: [{}, {}]", "[profiles[0].schedulerName: Required value, profiles[1].schedulerName: Required value, "),
        ("profiles: [{schedulerName: a}, {schedulerName: a}]", 'profiles[1].schedulerName: Duplicate value: "profiles[0]'),
        ("percentageOfNodesToScore: 101", "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"),
        ("podInitialBackoffSeconds: 0", "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"),
        ("parallelism: 0", "parallelism: Invalid value: 0: should be an integer value greater than zero"),
        ("nonsense: 1", 'unknown field "nonsense"'),
        ("profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {nonsense: 1}}]}]", 'unknown field "nonsense"'),
        ("profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]", "[0, 100]"),
        ("profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]", "was invalid in version"),
        ("extenders: [{urlPrefix: x, prioritizeVerb: p}]", "extenders[0].weight: Invalid value: 0: must have a positive"),
        ("extenders: [{urlPrefix: x, bindVerb: b}, {urlPrefix: z, bindVerb: b}]", "found 2 extenders implementing bind"),
        ("leaderElection: {resourceLock: endpoints}", 'resourceLock value must be "leases"'),
        (
            "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, topologyKey: z, "
            "whenUnsatisfiable: DoNotSchedule}]}}]}]",
            "when .defaultConstraints are not empty",
        ),
        (
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio}}}]}]",
            "must be specified when type is RequestedToCapacityRatio",
        ),
    ],
)
def test_what_is_wrong_is_said(body: str, words: str):
    with pytest.raises(BadConfiguration) as problem:
        given(body)
    assert words in str(problem.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("plugins: {filter: {enabled: [{name: Nobody}]}}", 'plugin "Nobody" does not exist'),
        (
            "plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}",
            'plugin "NodeName" already registered as "filter"',
        ),
        ('plugins: {bind: {disabled: [{name: "*"}]}}', "at least one bind plugin is needed"),
    ],
)
def test_plugins_that_cannot_run(body: str, words: str):
    with pytest.raises(BadConfiguration, match=words):
        profile(body)


# v1.22 pkg/scheduler/framework/plugins/legacy_registry.go
def policy(body: str) -> Profile:
    (found,) = settings.of(read(f"apiVersion: v1\nkind: Policy\n{body}".encode())).profiles
    return build(found, Cluster())


def test_a_policy_names_what_runs():
    found = policy(
        "predicates: [{name: PodFitsResources}, {name: MatchInterPodAffinity}]\n"
        "priorities: [{name: LeastRequestedPriority, weight: 2}, {name: SelectorSpreadPriority, weight: 3}, "
        "{name: EqualPriority, weight: 1}]"
    )
    # What keeps pods off cordoned and tainted nodes always runs, and what gives claims their devices.
    always = ["NodeUnschedulable", "TaintToleration"]
    assert names(found.filters) == [*always, "NodeResourcesFit", "InterPodAffinity", "DynamicResources"]
    assert weights(found) == {"NodeResourcesLeastAllocated": 2, "SelectorSpread": 3}
    assert found.preemption is not None


def test_a_policy_without_lists_keeps_the_default_ones():
    found, usual = policy("hardPodAffinitySymmetricWeight: 10"), default_profile(Cluster())
    assert (names(found.filters), weights(found)) == (names(usual.filters), weights(usual))


OLD_PREDICATES = (
    "PodToleratesNodeTaints",
    "CheckNodeMemoryPressure",
    "CheckNodeDiskPressure",
    "NoVolumeNodeConflict",
    "PodFitsPorts",
    "PodFitsHostPorts",
    "PodFitsResources",
    "HostName",
    "MatchNodeSelector",
    "NoVolumeZoneConflict",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxAzureDiskVolumeCount",
    "MatchInterPodAffinity",
    "NoDiskConflict",
    "GeneralPredicates",
)
OLD_PRIORITIES = (
    "LeastRequestedPriority",
    "MostRequestedPriority",
    "RequestedToCapacityRatioPriority",
    "NodePreferAvoidPodsPriority",
    "NodeAffinityPriority",
    "TaintTolerationPriority",
    "ServiceSpreadingPriority",
    "SelectorSpreadPriority",
    "InterPodAffinityPriority",
    "BalancedResourceAllocation",
    "ImageLocalityPriority",
)


def test_every_old_name_is_known():
    found = policy(
        f"predicates: [{', '.join(f'{{name: {each}}}' for each in OLD_PREDICATES)}]\n"
        f"priorities: [{', '.join(f'{{name: {each}, weight: 1}}' for each in OLD_PRIORITIES)}]"
    )
    assert len(found.filters) == 12
    assert len(found.scorers) == len(OLD_PRIORITIES)


@pytest.mark.parametrize("name", OLD_PREDICATES)
def test_each_old_predicate_alone(name: str):
    """Beside it runs only what always did, and what gives claims their devices."""
    found = names(policy(f"predicates: [{{name: {name}}}]").filters)
    assert set(found) == {"NodeUnschedulable", "TaintToleration", "DynamicResources", *PREDICATES[name]}


@pytest.mark.parametrize("name", OLD_PRIORITIES)
@pytest.mark.parametrize("ending", ["", "Priority"])
def test_each_old_priority_alone_with_and_without_its_ending(name: str, ending: str):
    spelled = name.removesuffix("Priority") + ending if name.endswith("Priority") else name
    assert weights(policy(f"priorities: [{{name: {spelled}, weight: 3}}]")) == {PRIORITIES[name]: 3}


@pytest.mark.parametrize(
    "body",
    [
        "predicates: [{name: Odd}]",
        "priorities: [{name: Odd, weight: 1}]",
        "priorities: [{name: ImageLocalityPriority}]",
    ],
)
def test_names_and_weights_that_make_no_sense(body: str):
    with pytest.raises(BadConfiguration):
        policy(body)


def scores(strategy: str, pods: dict[str, str]) -> dict[str, int]:
    """Of nodes with 4 CPUs and 8Gi, on which so much memory and as large a part of the CPUs is in use."""
    args = f"pluginConfig: [{{name: NodeResourcesFit, args: {{scoringStrategy: {strategy}}}}}]"
    (chosen,) = given(f"profiles:\n- {args}").profiles
    bench = Bench(settings=chosen).nodes(*(make_node(name) for name in pods))
    for name, memory in pods.items():
        cpu = f"{int(memory.removesuffix('Gi')) * 500}m"
        bench.running(bound(make_pod(f"on-{name}", cpu=cpu, memory=memory), name))
    return bench.scores(make_pod("p", cpu="500m", memory="1Gi"), "NodeResourcesFit")


# v1.36.4 pkg/scheduler/framework/plugins/noderesources/{least_allocated,most_allocated,requested_to_capacity_ratio}.go
def test_strategies():
    used = {"empty": "0Gi", "half": "3Gi", "full": "7Gi"}
    assert scores("{type: LeastAllocated}", used) == {"empty": 87, "half": 50, "full": 0}
    assert scores("{type: MostAllocated}", used) == {"empty": 12, "half": 50, "full": 100}
    curve = "{shape: [{utilization: 0, score: 0}, {utilization: 50, score: 10}, {utilization: 100, score: 5}]}"
    along = f"{{type: RequestedToCapacityRatio, requestedToCapacityRatio: {curve}}}"
    assert scores(along, used) == {"empty": 24, "half": 100, "full": 50}


def test_resources_that_others_look_after_are_ignored():
    (chosen,) = given(
        "profiles:\n- pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [example.com/a], "
        "ignoredResourceGroups: [example.org]}}]"
    ).profiles
    bench = Bench(settings=chosen).nodes(make_node("n"))

    def asking(resource: str) -> dict[str, Any]:
        requests = {"requests": {resource: "1"}}
        return make_pod("p", containers=[{"name": "c", "image": "i", "resources": requests}])

    assert bench.feasible(asking("example.com/a")) == ["n"]
    assert bench.feasible(asking("example.org/b")) == ["n"]
    assert bench.feasible(asking("example.com/b")) == []


def test_affinity_that_the_profile_adds():
    terms = "{nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [a]}]}]}"
    added = f"{{addedAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {terms}}}}}"
    (chosen,) = given(f"profiles:\n- pluginConfig: [{{name: NodeAffinity, args: {added}}}]").profiles
    bench = Bench(settings=chosen).nodes(make_node("in", labels={"pool": "a"}), make_node("out"))
    assert bench.feasible(make_pod("p")) == ["in"]
    assert bench.reasons(make_pod("p")) == {"out": ["node(s) didn't match scheduler-enforced node affinity"]}
