"""What --runtime-config turns on and off, refused as a live v1.36.4 kube-apiserver has refused the same values."""

import pytest

from tiphys.api.registry import KINDS
from tiphys.apiserver.enablement import NOT_SERVED, Unusable, parse, read

DEPLOYMENTS = next(each for each in KINDS if each.kind == "Deployment")
DAEMON_SETS = next(each for each in KINDS if each.kind == "DaemonSet")
PODS = next(each for each in KINDS if each.kind == "Pod")


def has(text):
    found = read(parse(text), KINDS)
    return found.has(DEPLOYMENTS), found.has(DAEMON_SETS), found.has(PODS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (True, True, True)),
        ("apps/v1=false", (False, False, True)),
        ("apps/v1/daemonsets=false", (True, False, True)),
        ("apps/v1=false,apps/v1/daemonsets=true", (False, True, True)),
        ("apps/v1/daemonsets=true,apps/v1=0", (False, True, True)),
        ("api/all=false,flowcontrol.apiserver.k8s.io/v1=true,apiregistration.k8s.io/v1=true,/v1=true", (False, False, True)),
        ("flowcontrol.apiserver.k8s.io/v1=true,api/ga=false,apps/v1,apiregistration.k8s.io/v1,v1", (True, True, True)),
        ("api/beta=false,api/alpha=false", (True, True, True)),
        ("storage.k8s.io/v1beta1=false,scheduling.k8s.io/v1alpha2=false,api/legacy=false", (True, True, True)),
        ("v1=true", (True, True, True)),
        ("apps/v1=,api/v1/pods=true", (True, True, True)),
    ],
)
def test_what_is_left(text, expected):
    assert has(text) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "api/all=false",
            "[--runtime-config=api/all=false conflicts with --enable-priority-and-fairness=true, "
            "invalid runtime-config with only api/all=false]",
        ),
        (
            "api/all=false,api/ga=false",
            "--runtime-config=api/ga=false conflicts with --enable-priority-and-fairness=true",
        ),
        ("foo/v1=true", "unknown api groups foo/v1"),
        ("foo.example/v1=true,bar.example/v2=false", "unknown api groups bar.example/v2,foo.example/v1"),
        ("api/foo=true", "unknown api groups api/foo"),
        ("apps/v2=true", "group version apps/v2 that has not been registered"),
        ("/v2=true", "group version v2 that has not been registered"),
        ("scheduling.k8s.io/v1alpha1=false", "group version scheduling.k8s.io/v1alpha1 that has not been registered"),
        ("apps/v1=maybe", 'invalid value of apps/v1: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax'),
        ("api/all=maybe", "invalid value api/all=maybe"),
        ("api/beta=", "invalid value api/beta="),
        ("a/b/c/d=true", "runtime-config invalid key a/b/c/d"),
        ("apps=true", "runtime-config invalid key apps"),
        (
            "apps/v1/Deployments=false",
            "invalid key apps/v1/Deployments: group/version/resource and resource is always lowercase plural, "
            'not "Deployments"',
        ),
        ("apiregistration.k8s.io/v1=false", "API group/version apiregistration.k8s.io/v1 must be enabled"),
    ],
)
def test_what_makes_no_sense(text, told):
    with pytest.raises(Unusable) as refused:
        read(parse(text), KINDS)
    assert str(refused.value) == told


@pytest.mark.differs(
    "--runtime-config turns on older versions of groups (storage.k8s.io/v1beta1=true)",
    "only what v1.36 serves by default is there; another version is refused as one that has not been registered",
)
@pytest.mark.parametrize("version", [f"{group}/{each}" for group, all_of in NOT_SERVED.items() for each in all_of.split()])
def test_versions_that_are_not_here(version):
    with pytest.raises(Unusable, match="has not been registered"):
        read({version: "true"}, KINDS)
    assert read({version: "false"}, KINDS).has(PODS)


@pytest.mark.differs(
    "kube-apiserver crashes with --runtime-config=v1=false", "it is refused: the core group cannot be turned off"
)
@pytest.mark.parametrize("key", ["v1", "api/v1", "/v1", "v1/pods", "/v1/pods"])
def test_the_core_group_stays(key):
    with pytest.raises(Unusable, match="the core group cannot be turned off"):
        read({key: "false"}, KINDS)


def test_a_stage_without_versions_is_told():
    assert read(parse("api/beta=true,api/alpha=true,api/ga=true"), KINDS).idle == ("api/beta", "api/alpha")
