"""networking.k8s.io: how traffic reaches Services from outside, which traffic pods may have, and who has which address."""

from tiphys.api.kind import Kind
from tiphys.api.networking.ingressclasses import INGRESS_CLASSES
from tiphys.api.networking.ingresses import INGRESSES
from tiphys.api.networking.ipaddresses import IP_ADDRESSES
from tiphys.api.networking.networkpolicies import NETWORK_POLICIES
from tiphys.api.networking.servicecidrs import SERVICE_CIDRS

KINDS: tuple[Kind, ...] = (INGRESS_CLASSES, INGRESSES, IP_ADDRESSES, NETWORK_POLICIES, SERVICE_CIDRS)
