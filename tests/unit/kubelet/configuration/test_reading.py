"""KubeletConfiguration v1beta1 (v1.36.4 staging/src/k8s.io/kubelet/config/v1beta1/types.go, and its defaults)."""

import pytest

from tiphys.kubelet.configuration import BadConfiguration, checking, merged, read, seconds, with_defaults, without_effect
from tiphys.kubelet.configuration.fields import FIELDS, USED

HEAD = b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def test_what_is_absent_is_filled_in_and_what_is_given_stays():
    given = read(HEAD + b"maxPods: 20\nregistryPullQPS: 0\nauthentication: {anonymous: {enabled: true}}\nevictionHard: {}\n")
    whole = with_defaults(given)
    assert (whole["maxPods"], whole["registryPullQPS"], whole["evictionHard"]) == (20, 0, {})
    assert whole["authentication"]["anonymous"] == {"enabled": True}
    assert whole["authentication"]["webhook"] == {"enabled": True, "cacheTTL": "2m0s"}
    assert seconds(whole, "nodeStatusReportFrequency") == 300
    assert checking.problems(whole) == []


def test_defaults_that_follow_other_fields():
    # pkg/kubelet/apis/config/v1beta1/defaults.go: SetDefaults_KubeletConfiguration
    assert with_defaults({"nodeStatusUpdateFrequency": "1s"})["nodeStatusReportFrequency"] == "1s"
    assert with_defaults({"maxParallelImagePulls": 3})["serializeImagePulls"] is False
    assert with_defaults({"maxParallelImagePulls": 1})["serializeImagePulls"] is True


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEAD + b"foo: 1\nlogging: {bar: 2}\n", 'strict decoding error: unknown field "foo", unknown field "logging.bar"'),
        (HEAD + b"maxPods: 1\nmaxPods: 2\n", 'key "maxPods" already set in map'),
        (HEAD + b"maxPods: many\n", "cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32"),
        (HEAD + b"authentication: yes\n", "KubeletConfiguration.authentication of type struct"),
        (HEAD + b"syncFrequency: 5\n", "KubeletConfiguration.syncFrequency of type string"),
        (HEAD + b"syncFrequency: 5 parrots\n", "syncFrequency: time: unknown unit"),
        (
            HEAD.replace(b"v1beta1", b"v1"),
            'no kind "KubeletConfiguration" is registered for version "kubelet.config.k8s.io/v1"',
        ),
        (b"[]", "not an object"),
    ],
)
def test_what_is_refused(text, told):
    with pytest.raises(BadConfiguration) as refused:
        read(text)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        # pkg/kubelet/apis/config/validation/validation_test.go
        ({"nodeLeaseDurationSeconds": -1}, "invalid configuration: nodeLeaseDurationSeconds must be greater than 0"),
        ({"maxPods": -1}, "invalid configuration: maxPods (--max-pods) -1 must not be a negative number"),
        ({"eventBurst": -10}, "invalid configuration: eventBurst (--event-burst) -10 must not be a negative number"),
        (
            {"imageGCHighThresholdPercent": 101},
            "imageGCHighThresholdPercent (--image-gc-high-threshold) 101 must be between 0 and 100, inclusive",
        ),
        (
            {"imageGCHighThresholdPercent": 79},
            "invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) 80"
            " must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 79",
        ),
        ({"nodeStatusMaxImages": -2}, "nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater"),
        ({"shutdownGracePeriod": "40ms"}, "shutdownGracePeriod 40ms must be either zero or otherwise >= 1 sec"),
        ({"registerWithTaints": [{"key": "a", "effect": "Never"}]}, "invalid taint"),
        ({"cgroupDriver": "systemd"}, "only cgroupfs is supported"),
        ({"systemReserved": {"cpu": "much"}}, "is no quantity"),
    ],
)
def test_what_cannot_be(given, told):
    assert any(told in each for each in checking.problems(with_defaults(given)))


def test_flags_go_before_the_file_field_by_field():
    file = {"maxPods": 5, "authentication": {"webhook": {"enabled": False, "cacheTTL": "1s"}}}
    flags = {"authentication": {"webhook": {"enabled": True}, "anonymous": {"enabled": True}}}
    assert merged(file, flags) == {
        "maxPods": 5,
        "authentication": {"webhook": {"enabled": True, "cacheTTL": "1s"}, "anonymous": {"enabled": True}},
    }


def test_what_changes_nothing_is_known():
    assert without_effect({"maxPods": 5, "cpuManagerPolicy": "static", "topologyManagerPolicy": "none"}) == ["cpuManagerPolicy"]
    assert set(FIELDS) >= USED
