"""Classes, claims, Services, certificates, owners, events. The refusals were compared with a v1.36.4 server."""

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tiphys.apiserver.admission.chain import Attributes
from tiphys.apiserver.admission.configuration import Configuration
from tiphys.apiserver.admission.event_rate_limit import Limit
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import ALLOWED, Decision, Verdict
from tiphys.machinery.errors import ApiError

BOB = User("bob", ("devs", "system:authenticated"))


class Only:
    """Allows what is listed, as (verb, resource with subresource, name)."""

    def __init__(self, *allowed):
        self._allowed = allowed

    async def authorize(self, asked):
        given = (asked.verb, asked.full_resource, asked.name)
        return ALLOWED if given in self._allowed else Decision(Verdict.NO_OPINION, "")


def claim(**spec):
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "v", "namespace": "t"}}
    return {**kind, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}}


def storage_class(name, **more):
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name, "annotations": mark}}
    return {**kind, "provisioner": "x", **more}


# plugin/pkg/admission/storage/storageclass/setdefault/admission.go, pkg/volume/util/storageclass.go:52
async def test_claims_get_the_newest_default_class_and_are_protected(serve):
    server = serve()
    await server.namespace("t")
    bare = await server.create("persistentvolumeclaims", claim())
    assert "storageClassName" not in bare["spec"]
    assert bare["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    for name in ("old", "b", "a"):
        await server.create("storageclasses", storage_class(name), "storage.k8s.io")
        server.clock.time += name == "old"
    made = await server.create("persistentvolumeclaims", {**claim(), "metadata": {"name": "w", "namespace": "t"}})
    assert made["spec"]["storageClassName"] == "a"
    none = await server.create(
        "persistentvolumeclaims", {**claim(storageClassName=""), "metadata": {"name": "n", "namespace": "t"}}
    )
    assert none["spec"]["storageClassName"] == ""


async def test_ingresses_get_the_default_class(serve):
    server = serve()
    await server.namespace("t")
    mark = {"ingressclass.kubernetes.io/is-default-class": "true"}
    ingress_class = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IngressClass",
        "metadata": {"name": "web", "annotations": mark},
    }
    await server.create("ingressclasses", {**ingress_class, "spec": {"controller": "a.b/c"}}, "networking.k8s.io")
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i", "namespace": "t"}}
    ingress["spec"] = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    assert (await server.create("ingresses", ingress, "networking.k8s.io"))["spec"]["ingressClassName"] == "web"
    annotated = {"name": "j", "namespace": "t", "annotations": {"kubernetes.io/ingress.class": "old"}}
    made = await server.create("ingresses", {**ingress, "metadata": annotated}, "networking.k8s.io")
    assert "ingressClassName" not in made["spec"]


# plugin/pkg/admission/storage/persistentvolume/resize/admission.go
@pytest.mark.parametrize("may_grow", [False, True])
async def test_a_claim_grows_only_where_its_class_says_so(serve, may_grow):
    server = serve()
    await server.namespace("t")
    await server.create("storageclasses", storage_class("c", allowVolumeExpansion=may_grow), "storage.k8s.io")
    await server.create("persistentvolumeclaims", claim())
    await server.patch("persistentvolumeclaims", "v", {"spec": {"volumeName": "x"}}, "t")
    await server.patch("persistentvolumeclaims", "v", {"status": {"phase": "Bound"}}, "t", subresource="status")
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    answer = await server.patch("persistentvolumeclaims", "v", larger, "t")
    if may_grow:
        assert answer["spec"]["resources"]["requests"]["storage"] == "2Gi"
    else:
        told = (
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
        )
        assert answer["message"] == f'persistentvolumeclaims "v" is forbidden: {told}'


# plugin/pkg/admission/network/denyserviceexternalips/admission.go
async def test_external_addresses_may_go_but_not_come(serve):
    server = serve(enabled=("DenyServiceExternalIPs",))
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "t"}}
    service["spec"] = {"ports": [{"port": 80}], "clusterIP": "None", "externalIPs": ["1.2.3.4", "1.2.3.5"]}
    (plugin,) = (each for each in server.plugins if each.name == "DenyServiceExternalIPs")
    call = Attributed(server.kind("services"), service)
    with pytest.raises(ApiError, match='services "s" is forbidden: Use of external IPs is denied by admission control'):
        plugin.validate(call.of("CREATE"))
    fewer = {**service, "spec": {**service["spec"], "externalIPs": ["1.2.3.4"]}}
    plugin.validate(Attributed(server.kind("services"), fewer).of("UPDATE", service))
    with pytest.raises(ApiError, match="denied by admission control"):
        plugin.validate(call.of("UPDATE", fewer))


class Attributed:
    def __init__(self, kind, obj):
        self._kind = kind
        self._obj = obj

    def of(self, operation, old=None):
        name = self._obj["metadata"]["name"]
        return Attributes(operation, self._kind, "t", name, BOB, 0.0, obj=self._obj, old=old)


def request(subject, signer, name="r"):
    names = [x509.NameAttribute(getattr(NameOID, kind), value) for kind, value in subject]
    signed = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names)).sign(KEY, hashes.SHA256())
    body = base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name}}
    return {**kind, "spec": {"request": body, "signerName": signer, "usages": ["client auth"]}}


KEY = ec.generate_private_key(ec.SECP256R1())
MASTERS = [("ORGANIZATION_NAME", "system:masters"), ("COMMON_NAME", "x")]
CSRS, GROUP = "certificatesigningrequests", "certificates.k8s.io"


# plugin/pkg/admission/certificates/subjectrestriction/admission.go
async def test_nobody_asks_their_way_into_the_masters(serve):
    status = await serve().create(CSRS, request(MASTERS, "kubernetes.io/kube-apiserver-client"), GROUP)
    told = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
    assert status["message"] == f'certificatesigningrequests.certificates.k8s.io "r" is forbidden: {told}'
    assert (await serve().create(CSRS, request(MASTERS, "example.com/other"), GROUP))["kind"] == "CertificateSigningRequest"


# plugin/pkg/admission/certificates/{approval,signing}/admission.go
@pytest.mark.parametrize(("verb", "part", "word"), [("approve", "approval", "approve"), ("sign", "status", "sign")])
@pytest.mark.parametrize("allowed", ["", "example.com/signer", "example.com/*", "other.com/*"])
async def test_signers_choose_who_approves_and_signs(serve, verb, part, word, allowed):
    server = serve(authorizer=Only((verb, "signers", allowed)))
    await server.create(CSRS, request([("COMMON_NAME", "x")], "example.com/signer"), GROUP)
    kind = "Approved" if verb == "approve" else "Failed"
    condition = {"type": kind, "status": "True", "reason": "x", "message": "y"}
    answer = await server.patch(CSRS, "r", {"status": {"conditions": [condition]}}, group=GROUP, user=BOB, subresource=part)
    if allowed in ("example.com/signer", "example.com/*"):
        assert answer["status"]["conditions"][0]["type"] == kind
    else:
        told = f'user not permitted to {word} requests with signerName "example.com/signer"'
        assert answer["message"] == f'certificatesigningrequests.certificates.k8s.io "r" is forbidden: {told}'


def owned(name, **more):
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", **more}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "t", "ownerReferences": [owner]}}


# plugin/pkg/admission/gc/gc_admission.go
@pytest.mark.parametrize(
    ("allowed", "obj", "why"),
    [
        ((), owned("c"), ""),
        (
            (),
            owned("c", blockOwnerDeletion=True),
            "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>",
        ),
        ((("update", "pods/finalizers", "p"),), owned("c", blockOwnerDeletion=True), ""),
        ((("update", "*/finalizers", "*"),), owned("c", blockOwnerDeletion=True), ""),
        (
            (),
            owned("c", kind="Nope", blockOwnerDeletion=True),
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion v1 Kind Nope: "
            'no matches for kind "Nope" in version "v1"',
        ),
    ],
)
async def test_owners_are_held_up_only_by_who_may(serve, allowed, obj, why):
    server = serve(enabled=("OwnerReferencesPermissionEnforcement",), authorizer=Only(*allowed))
    await server.namespace("t")
    answer = await server.create("configmaps", obj, user=BOB)
    assert answer.get("message", "") == (f'configmaps "c" is forbidden: {why}' if why else "")


async def test_owners_are_changed_only_by_who_may_delete(serve):
    for allowed in ((), (("delete", "configmaps", "c"),)):
        server = serve(enabled=("OwnerReferencesPermissionEnforcement",), authorizer=Only(*allowed))
        await server.namespace("t")
        await server.create("configmaps", owned("c"))
        answer = await server.patch("configmaps", "c", {"metadata": {"ownerReferences": None}}, "t", user=BOB)
        told = "cannot set an ownerRef on a resource you can't delete: , <nil>"
        assert answer.get("message", "") == ("" if allowed else f'configmaps "c" is forbidden: {told}')


# plugin/pkg/admission/eventratelimit/admission.go
async def test_events_are_counted_by_namespace_and_by_what_they_tell_of(serve):
    limits = (Limit("Namespace", qps=1, burst=2), Limit("SourceAndObject", qps=1, burst=1))
    server = serve(enabled=("EventRateLimit",), configuration=Configuration(event_limits=limits))
    for name in ("t", "other"):
        await server.namespace(name)

    async def tell(name, namespace="t", about="p"):
        event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace}}
        event["involvedObject"] = {"kind": "Pod", "namespace": namespace, "name": about}
        return await server.create("events", {**event, "source": {"component": "x"}})

    assert (await tell("a"))["kind"] == "Event"
    status = await tell("b")
    assert (status["code"], status["message"]) == (429, "limit reached on type SourceAndObject for key xPodtp")
    assert (await tell("c", about="q"))["code"] == 429
    assert (await tell("d", "other"))["kind"] == "Event"
    server.clock.time += 1
    assert (await tell("e", about="r"))["kind"] == "Event"
