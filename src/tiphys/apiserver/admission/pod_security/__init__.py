"""PodSecurity: what the labels of a namespace allow its pods to ask of their nodes (the Pod Security Standards)."""

from tiphys.apiserver.admission.pod_security.plugin import Exemptions, PodSecurity, PodSecuritySettings

__all__ = ["Exemptions", "PodSecurity", "PodSecuritySettings"]
