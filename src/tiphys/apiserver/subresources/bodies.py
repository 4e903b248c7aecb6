"""Bodies of subresources whose type is not that of the object: Binding, Eviction, TokenRequest."""

from dataclasses import replace

from tiphys.api.kind import Kind
from tiphys.apiserver.call import Call, check_write_options
from tiphys.apiserver.catalogue import Served
from tiphys.apiserver.rest import answers, bodies
from tiphys.machinery.tree import Obj

BINDING = Kind("", "v1", "Binding", "bindings", "io.k8s.api.core.v1.Binding")
EVICTION = Kind("policy", "v1", "Eviction", "evictions", "io.k8s.api.policy.v1.Eviction")
TOKEN_REQUEST = Kind(
    "authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", "io.k8s.api.authentication.v1.TokenRequest"
)


def as_kind(call: Call, kind: Kind) -> Call:
    """The same request, about the type of its body."""
    return replace(call, served=Served(kind, call.backend.catalogue.schemas.node(kind.schema)))


def read(call: Call, kind: Kind, *, also: tuple[str, ...] = ()) -> Obj:
    """`also`: older versions of the type that mean the same."""
    answers.form_of(call)
    check_write_options(call)
    about = as_kind(call, kind)
    obj = bodies.read_object(about, also=also)
    bodies.check_namespace(about, obj)
    return obj
