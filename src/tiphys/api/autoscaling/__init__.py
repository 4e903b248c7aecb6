"""autoscaling v2 and v1: how many copies of a workload there should be. Both versions share what v2 stores."""

from tiphys.api.autoscaling.horizontalpodautoscalers import HORIZONTALPODAUTOSCALERS
from tiphys.api.autoscaling.horizontalpodautoscalers_v1 import HORIZONTALPODAUTOSCALERS_V1
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (HORIZONTALPODAUTOSCALERS, HORIZONTALPODAUTOSCALERS_V1)
