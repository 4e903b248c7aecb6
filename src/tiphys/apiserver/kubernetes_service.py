"""default/kubernetes: the API server as a Service, with this server among its endpoints."""

import ipaddress

from tiphys.api.core import KINDS as CORE
from tiphys.api.discovery import KINDS as DISCOVERY
from tiphys.api.kind import Kind
from tiphys.apiserver.authn.user import MASTERS, User
from tiphys.apiserver.call import Backend, Call
from tiphys.apiserver.request import RequestInfo
from tiphys.apiserver.rest import create, storing, update
from tiphys.base.http.messages import Request
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

NAME, NAMESPACE = "kubernetes", "default"
_SERVER = User("system:apiserver", (MASTERS,))


async def ensure(backend: Backend, cidr: str, address: str, port: int) -> None:
    """Make what is missing and put this server's address in; a Service that is there stays as it is."""
    objects = [_service(cidr, port)]
    if not ipaddress.ip_address(address).is_loopback:
        # On a machine without any network there is no address that an endpoint may have.
        objects += [_endpoints(address, port), _slice(address, port)]
    for obj in objects:
        kind = next(each for each in (*CORE, *DISCOVERY) if each.kind == obj["kind"])
        if not backend.catalogue.is_off(*kind.gvk):
            await _ensure_one(_call(backend, kind, obj), obj)


async def _ensure_one(call: Call, obj: Obj) -> None:
    if await update.load(call) is None:
        try:
            await create.create_object(call, obj)
        except ApiError as problem:
            # Another server of the cluster may have been faster.
            if await update.load(call) is None:
                raise problem from None
    elif obj["kind"] != "Service":
        await _replace(call, obj)


def _call(backend: Backend, kind: Kind, obj: Obj) -> Call:
    info = RequestInfo("create", "", True, kind.group, kind.version, NAMESPACE, kind.plural, "", NAME)
    request = Request("POST", "", "", {"user-agent": "kube-apiserver"})
    served = backend.catalogue.of(kind)
    served.kind.default(obj)
    return Call(backend, request, info, {}, _SERVER, served, backend.clock.now())


async def _replace(call: Call, obj: Obj) -> None:
    async def attempt() -> None:
        current = await update.load(call)
        if current is not None:
            await update.change_object(call, current, lambda _: {**obj, "metadata": dict(obj["metadata"])})

    await storing.read_modify_write(attempt, call)


def first_address(cidr: str) -> str:
    network = ipaddress.ip_network(cidr)
    return str(network.network_address + 1)


def _metadata() -> Obj:
    return {"name": NAME, "namespace": NAMESPACE}


def _service(cidr: str, port: int) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**_metadata(), "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": first_address(cidr),
            "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        },
    }


def _endpoints(address: str, port: int) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {**_metadata(), "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": address}], "ports": [{"name": "https", "port": port, "protocol": "TCP"}]}],
    }


def _slice(address: str, port: int) -> Obj:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**_metadata(), "labels": {"kubernetes.io/service-name": NAME}},
        "addressType": f"IPv{ipaddress.ip_address(address).version}",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }
