"""KubeletConfiguration (kubelet.config.k8s.io/v1beta1): its fields and defaults, read strictly, from a file and from flags."""

from tiphys.kubelet.configuration.reading import BadConfiguration, merged, read, seconds, with_defaults, without_effect

__all__ = ["BadConfiguration", "merged", "read", "seconds", "with_defaults", "without_effect"]
