"""--feature-gates is refused in the words in which a live v1.36.4 kube-apiserver has refused the same values.

Names, stages, defaults, locks and needs of `feature_gates.tsv` are those of its metric kubernetes_feature_enabled, and of what
it said to each gate set to what it is not by default.
"""

from collections import Counter

import pytest

from tiphys.machinery.feature_gates import ALL, API_SERVER, PAGES, Unusable, known, parse, read


def test_what_there_is():
    gates = known()
    assert Counter(gate.stage for gate in gates.values()) == {"ALPHA": 49, "BETA": 99, "DEPRECATED": 16, "GA": 76}
    assert sum(gate.locked for gate in gates.values()) == 76
    assert {each for gate in gates.values() for each in gate.needs} < gates.keys()
    assert gates.keys() > API_SERVER > PAGES


def test_a_gate_is_as_it_is_set_or_else_as_it_is_by_default():
    gates = read(parse("ComponentFlagz=false, kube:GenericWorkload = T"))
    assert not gates.on("ComponentFlagz")
    assert gates.on("ComponentStatusz")
    assert gates.on("GenericWorkload")
    assert not gates.on("GangScheduling")


@pytest.mark.parametrize(
    ("text", "on", "off"),
    [
        ("AllAlpha=true", ("PodsAPI", "ComponentFlagz"), ("ClusterTrustBundle",)),
        ("AllAlpha=true,PodsAPI=false", ("HPAScaleToZero",), ("PodsAPI",)),
        ("AllBeta=false", ("APIServerTracing",), ("ComponentFlagz", "ComponentStatusz")),
        ("ComponentFlagz=true,AllBeta=false", ("ComponentFlagz",), ("ComponentStatusz",)),
    ],
)
def test_whole_stages(text, on, off):
    gates = read(parse(text))
    assert [gates.on(each) for each in (*on, *off)] == [True] * len(on) + [False] * len(off)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Foo=true", "unrecognized feature gate: Foo"),
        ("kube:Foo=true", "unrecognized feature gate: Foo"),
        ("foo:ComponentFlagz=true", "component not registered: foo"),
        ("Foo", "missing bool value for Foo"),
        (
            "ComponentFlagz=maybe",
            'invalid value of ComponentFlagz=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        ("APIServerTracing=false", "cannot set feature gate APIServerTracing to false, feature is locked to true"),
        (
            "APIServerTracing=false,ContextualLogging=true,OrderedNamespaceDeletion=false",
            "[cannot set feature gate APIServerTracing to false, feature is locked to true, "
            "cannot set feature gate OrderedNamespaceDeletion to false, feature is locked to true]",
        ),
        (
            "GangScheduling=true,PodsAPI=true",
            "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
        ),
        (
            "AllBeta=false,AllAlpha=true",
            "[PodLevelResourceManagers is enabled, but depends on features that are disabled: [PodLevelResources], "
            "StorageVersionAPI is enabled, but depends on features that are disabled: [APIServerIdentity], "
            "UserNamespacesHostNetworkSupport is enabled, but depends on features that are disabled: [NodeDeclaredFeatures]]",
        ),
    ],
)
def test_what_cannot_be_set(text, told):
    with pytest.raises(Unusable) as refused:
        read(parse(text))
    assert str(refused.value) == told


@pytest.mark.parametrize("name", [name for name, gate in known().items() if gate.locked])
def test_what_is_locked_may_be_set_to_what_it_is(name):
    on = known()[name].on
    assert read({name: on}).on(name) is on
    with pytest.raises(Unusable, match="feature is locked to"):
        read({name: not on})


@pytest.mark.differs(
    "each of the feature gates changes something",
    "names and refusals are upstream's, but few gates have something behind them; who sets another one is told so",
)
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", []),
        ("ComponentFlagz=false,PodsAPI=false,WatchList=true", []),
        ("PodsAPI=true,HPAScaleToZero=true", ["these feature gates change nothing here: HPAScaleToZero=true, PodsAPI=true"]),
        ("AllAlpha=true", ["feature gate AllAlpha=true changes nothing here"]),
        ("AllAlpha=false,AllBeta=true", ["feature gate AllBeta=true counts here only for ComponentFlagz, ComponentStatusz"]),
        (
            "APIServerTracing=true",
            ["setting GA feature gate APIServerTracing=true. It will be removed in a future release."],
        ),
    ],
)
def test_what_who_sets_them_is_told(text, told):
    assert list(read(parse(text)).warnings(PAGES)) == told


def test_no_gate_has_the_name_of_a_stage():
    assert not ALL.keys() & known().keys()
