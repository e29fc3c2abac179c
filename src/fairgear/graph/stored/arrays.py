"""What a graph in memory knows of the files that its tensors are maps of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


class StoredArrays:
    """Tensors whose content was checked and hashed when it was written.

    A graph keeps it when some of its fields are replaced: what was replaced, or changed in place,
    is no longer held by it. In place means through the tensor itself: what is written through
    `.numpy()` or `.data` is not noticed, and the hashes of the time of writing are still given.

    Args:
        folder: where the files are.
        tensors: fields of the graph, mapped.
        digests: the SHA-256 of the bytes of each.
        csr: where the neighbours of each row begin, and the neighbours, in rising order.
        sens_column: the column of the features that was compared with the attribute.
    """

    def __init__(
        self,
        folder: Path,
        tensors: Mapping[str, Tensor],
        digests: Mapping[str, str],
        csr: tuple[NDArray[np.int64], NDArray[np.int32]],
        sens_column: int | None,
    ) -> None:
        self.folder = folder
        self.csr = csr
        self.sens_column = sens_column
        self._tensors = dict(tensors)
        self._digests = dict(digests)
        self._versions = {key: tensor._version for key, tensor in tensors.items()}

    def holds(self, key: str, value: Tensor | None) -> bool:
        """Whether `value` is the mapped field, as it was written."""
        return (
            value is not None
            and self._tensors.get(key) is value
            and value._version == self._versions[key]
        )

    def digest(self, key: str, value: Tensor) -> str | None:
        """The SHA-256 of the bytes of a field; None where it is another than was written."""
        return self._digests[key] if self.holds(key, value) else None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # The maps are of the disk's files, and copied tensors are not among them.
        return self
