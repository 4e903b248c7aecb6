"""storage.k8s.io/v1: which volumes there can be, who provides them, and where they are attached."""

from tiphys.api.kind import Kind
from tiphys.api.storage.csidrivers import CSIDRIVERS
from tiphys.api.storage.csinodes import CSINODES
from tiphys.api.storage.csistoragecapacities import CSISTORAGECAPACITIES
from tiphys.api.storage.storageclasses import STORAGECLASSES
from tiphys.api.storage.volumeattachments import VOLUMEATTACHMENTS
from tiphys.api.storage.volumeattributesclasses import VOLUMEATTRIBUTESCLASSES

KINDS: tuple[Kind, ...] = (
    CSIDRIVERS,
    CSINODES,
    CSISTORAGECAPACITIES,
    STORAGECLASSES,
    VOLUMEATTACHMENTS,
    VOLUMEATTRIBUTESCLASSES,
)
