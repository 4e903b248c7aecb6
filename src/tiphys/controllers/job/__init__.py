"""Job controller: run pods until enough of them have succeeded, or too many have failed.

Pods carry a finalizer until the Job's status has counted them, so that none is lost and none counted twice:

    finished pod -> its uid stands in status.uncountedTerminatedPods -> its finalizer goes -> its uid becomes a number

Each step is a turn of its own; the next one begins when the caches have seen the last.
"""

from tiphys.controllers.job.controller import JobController, World

__all__ = ["JobController", "World"]
