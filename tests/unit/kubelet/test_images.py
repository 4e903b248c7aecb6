from dataclasses import replace

import pytest

from tiphys.kubelet.image_puller import credentials
from tiphys.kubelet.images import (
    Keeping,
    PullAllowance,
    PullBackOff,
    excess,
    full_reference,
    is_reference,
    pull_problem,
    seen,
    to_remove,
    wants_pull,
)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("me/x:2", "docker.io/me/x:2"),
        ("localhost:5000/x", "localhost:5000/x:latest"),
        ("registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"),
        ("x@sha256:00", "docker.io/library/x@sha256:00"),
    ],
)
def test_references(image, expected):
    # https://kubernetes.io/docs/concepts/containers/images/#image-names
    assert full_reference(image) == expected


@pytest.mark.parametrize(
    ("policy", "present", "pull"),
    [("Always", True, True), ("IfNotPresent", True, False), ("IfNotPresent", False, True), ("Never", False, False)],
)
def test_pull_policy(policy, present, pull):
    assert wants_pull({"imagePullPolicy": policy}, present=present) is pull


def test_pull_back_off():
    # https://kubernetes.io/docs/concepts/containers/images/#imagepullbackoff
    back_off, delays = PullBackOff(), []
    for _ in range(7):
        back_off = back_off.failed("no", 0.0)
        delays.append(back_off.delay)
    assert delays == [10, 20, 40, 80, 160, 300, 300]


def test_credentials_for_a_registry():
    # {"auths":{"example.com":{"auth":"base64(u:p)"},"other":{}}}
    held = "eyJhdXRocyI6eyJleGFtcGxlLmNvbSI6eyJhdXRoIjoiZFRwdyJ9LCJvdGhlciI6e319fQ=="
    secret = {"data": {".dockerconfigjson": held}}
    assert credentials([secret], "example.com") == [{"username": "u", "password": "p"}]
    assert credentials([secret], "docker.io") == []


def test_unused_images_go_when_the_disk_fills_up():
    # https://kubernetes.io/docs/concepts/architecture/garbage-collection/#container-image-garbage-collection
    keeping = Keeping(high=85, low=80, least_age=60.0)
    assert excess(1000, 200, keeping) == 0
    assert excess(1000, 100, keeping) == 100
    stored = seen({}, {"old": 60, "older": 60, "fresh": 60, "busy": 60}, (), 0.0)
    stored = seen(stored, dict.fromkeys(stored, 60), ["old", "busy"], 10.0)
    stored = {**stored, "fresh": replace(stored["fresh"], detected=95.0)}
    stored = seen(stored, dict.fromkeys(stored, 60), ["busy"], 100.0)
    assert to_remove(stored.values(), 0, keeping, 0.0, 100.0) == []
    assert to_remove(stored.values(), 100, keeping, 0.0, 100.0) == ["older", "old"]
    assert to_remove(stored.values(), 50, keeping, 0.0, 100.0) == ["older"]


def test_images_may_grow_too_old():
    keeping = replace(Keeping(), most_age=50.0)
    stored = seen({}, {"a": 1, "b": 1}, ["a", "b"], 10.0)
    stored = seen(stored, {"a": 1, "b": 1}, ["b"], 100.0)
    assert to_remove(stored.values(), 0, keeping, 0.0, 100.0) == ["a"]
    assert to_remove(stored.values(), 0, keeping, 90.0, 100.0) == []


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("busybox", True),
        ("example.com:5000/a/b_c-d:V1.2", True),
        (f"a@sha256:{'0' * 64}", True),
        ("Busybox", False),
        ("a b", False),
        ("a:b:c", False),
        ("a//b", False),
    ],
)
def test_names_of_images(name, good):
    # https://github.com/distribution/reference/blob/main/reference.go
    assert is_reference(full_reference(name)) == good


def test_what_the_runtime_says_of_a_pull():
    # v1.36.4 pkg/kubelet/images/image_manager.go, evalCRIPullErr
    told = pull_problem("i", "RegistryUnavailable: no answer", "rpc error")
    assert told == ("RegistryUnavailable", "image pull failed for i because the registry is unavailable: no answer")
    assert pull_problem("i", "gone", "rpc error: gone") == ("ErrImagePull", "rpc error: gone")


def test_so_many_pulls_a_second():
    allowance = PullAllowance(2.0, 3.0)
    assert [allowance.take(100.0) for _ in range(4)] == [True, True, True, False]
    assert allowance.take(100.5)
    assert not allowance.take(100.5)
    assert all(PullAllowance(0.0, 0.0).take(0.0) for _ in range(9))
