"""Which images may run, as somebody outside says. plugin/pkg/admission/imagepolicy/admission.go"""

import pytest

from tiphys.apiserver.admission import configuration, registry
from tiphys.apiserver.admission.configuration import Configuration
from tiphys.apiserver.admission.image_policy_webhook import FAILED_OPEN, ImagePolicy
from tiphys.apiserver.admission.registry import AdmissionSettings, UnusablePlugins
from tiphys.apiserver.authn.review_client import NotAnswered
from tiphys.client.kubeconfig import Access

POLICY = ImagePolicy(Access("https://images.test/policy"), allowed_seconds=60, denied_seconds=30, first_pause=0.1)
YES = {"allowed": True}


class Somebody:
    """Gives its answers in order, the last one for ever, and remembers what it was asked."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.asked = []

    async def ask(self, review):
        self.asked.append(review)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, str):
            raise NotAnswered(answer)
        return answer


@pytest.fixture
def serve_asking(serve, monkeypatch):
    def make(*answers, policy=POLICY):
        somebody = Somebody(*answers)
        monkeypatch.setattr(registry, "ReviewClient", lambda *_, **__: somebody)
        server = serve(enabled=["ImagePolicyWebhook"], configuration=Configuration(image_policy=policy))
        return server, somebody

    return make


async def test_all_images_of_a_pod_are_told(serve_asking, make_pod):
    server, somebody = serve_asking(YES)
    await server.namespace("t")
    annotations = {"mine.image-policy.k8s.io/ticket": "7", "other": "x"}
    init = [{"name": "i", "image": "setup"}]
    pod = await server.create("pods", make_pod(metadata={"annotations": annotations}, initContainers=init))
    assert pod["kind"] == "Pod"
    (review,) = somebody.asked
    assert (review["kind"], review["apiVersion"]) == ("ImageReview", "imagepolicy.k8s.io/v1alpha1")
    assert review["spec"] == {
        "containers": [{"image": "nginx"}, {"image": "setup"}],
        "annotations": {"mine.image-policy.k8s.io/ticket": "7"},
        "namespace": "t",
    }


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"allowed": False}, "one or more images rejected by webhook backend"),
        ({"allowed": False, "reason": "old"}, "image policy webhook backend denied one or more images: old"),
        ("the webhook answered 400", "the webhook answered 400"),
    ],
)
async def test_a_refusal(serve_asking, make_pod, answer, told):
    server, _ = serve_asking(answer)
    await server.namespace("t")
    refused = await server.create("pods", make_pod())
    assert (refused["code"], refused["message"]) == (403, f'pods "p" is forbidden: {told}')


async def test_an_answer_counts_as_long_as_its_kind_does(serve_asking, make_pod):
    server, somebody = serve_asking(YES, {"allowed": False}, YES)
    await server.namespace("t")
    for number, (seconds, code) in enumerate([(0, None), (59, None), (2, 403), (29, 403), (2, None)]):
        server.clock.time += seconds
        answer = await server.create("pods", make_pod(f"p{number}"))
        assert answer.get("code") == code
    assert len(somebody.asked) == 3


async def test_what_was_not_answered_may_come_in_and_is_marked(serve_asking, make_pod):
    policy = ImagePolicy(POLICY.access, 60, 30, 0.1, default_allow=True)
    server, somebody = serve_asking("nobody there", policy=policy)
    await server.namespace("t")
    await server.create("pods", make_pod())
    stored = await server.get("pods", "p", "t")
    assert stored["metadata"]["annotations"][FAILED_OPEN] == "true"
    await server.create("pods", make_pod("q"))
    assert len(somebody.asked) == 2, "silence is not remembered"


def read(**given):
    text = '{"kind": "AdmissionConfiguration", "plugins": [{"name": "ImagePolicyWebhook", "path": "f"}]}'
    return configuration.read(text, lambda _: repr({"imagePolicy": given}), lambda name: Access(name)).image_policy


# plugin/pkg/admission/imagepolicy/config.go:60
def test_the_configuration():
    assert read(kubeConfigFile="k") == ImagePolicy(Access("k"), 300, 30, 0.5)
    found = read(kubeConfigFile="k", allowTTL=50, denyTTL=-1, retryBackoff=200, defaultAllow=1)
    assert found == ImagePolicy(Access("k"), 50, 0, 0.2, default_allow=True)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "kubeConfigFile is required"),
        ({"kubeConfigFile": "k", "allowTTL": 1801}, "valid value is between 1s and 30m0s, got 30m1s"),
        ({"kubeConfigFile": "k", "retryBackoff": 300001}, "valid value is between 1ms and 5m0s, got 5m0.001s"),
    ],
)
def test_a_wrong_configuration(given, told):
    with pytest.raises(configuration.Unusable, match=told):
        read(**given)


def test_it_does_not_run_without_its_configuration():
    with pytest.raises(UnusablePlugins, match="no config specified"):
        AdmissionSettings(enabled=("ImagePolicyWebhook",))
