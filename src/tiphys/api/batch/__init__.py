"""batch/v1: work that ends."""

from tiphys.api.batch.cronjobs import CRONJOBS
from tiphys.api.batch.jobs import JOBS
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (CRONJOBS, JOBS)
