"""What upstream keeps in an older version is shown in the newer one.

v1.36.4 staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/conversion.go: what all versions share stands
beside them in v1beta1.
"""

from tiphys.api.older_versions import upgraded
from tiphys.machinery.tree import Obj

SCHEMA = {"openAPIV3Schema": {"type": "object"}}


def definition(**spec: object) -> Obj:
    return {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "metadata": {}, "spec": spec}


def test_what_versions_share_is_given_to_each():
    versions = [{"name": "v1", "served": True, "storage": True}, {"name": "v2", "served": True, "storage": False}]
    columns = [{"name": "Size", "type": "integer", "JSONPath": ".spec.size"}]
    old = definition(
        group="example.com",
        version="v1",
        versions=versions,
        validation=SCHEMA,
        additionalPrinterColumns=columns,
        subresources={"status": {}},
        preserveUnknownFields=False,
        conversion={"strategy": "None"},
    )
    shown = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
    shared = {"schema": SCHEMA, "additionalPrinterColumns": shown, "subresources": {"status": {}}}
    assert upgraded(old) == {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {},
        "spec": {
            "group": "example.com",
            "versions": [{**each, **shared} for each in versions],
            "conversion": {"strategy": "None"},
        },
    }


def test_versions_that_differ_keep_their_own():
    versions = [{"name": "v1", "schema": SCHEMA}, {"name": "v2", "schema": {"openAPIV3Schema": {"type": "array"}}}]
    assert upgraded(definition(versions=versions, version="v1"))["spec"]["versions"] == versions


def test_a_webhook_that_converts():
    told = {"strategy": "Webhook", "webhookClientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1"]}
    webhook = {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1"]}
    assert upgraded(definition(versions=[], conversion=told))["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": webhook,
    }


def test_a_kind_of_which_nothing_but_the_version_changed():
    old = {
        "apiVersion": "admissionregistration.k8s.io/v1beta1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {},
        "spec": {"a": 1},
    }
    assert upgraded(old) == {**old, "apiVersion": "admissionregistration.k8s.io/v1"}


def test_others_stay_as_they_are():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {}}
    assert upgraded(pod) is pod
