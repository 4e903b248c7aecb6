"""Types of the columns, and how they grow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Ids = NDArray[np.int32]
Words = NDArray[np.uint64]

FIRST_CAPACITY = 64


def grown(column: NDArray[Any], capacity: int) -> NDArray[Any]:
    """The same numbers with room for more rows; rows are the last axis."""
    wider = np.zeros((*column.shape[:-1], capacity), column.dtype)
    wider[..., : column.shape[-1]] = column
    return wider
