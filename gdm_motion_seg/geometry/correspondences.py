# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two-view point correspondences, validated once."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray as FloatArray, IntArray as IntArray


@dataclass(frozen=True)
class Correspondences:
    """
    N points seen in two frames: the value between tracking and segmentation.

    Make it with :meth:`from_arrays`; everything behind that call may trust it.
    """

    x1: FloatArray
    """(N, 2) pixels in the older frame."""
    x2: FloatArray
    """(N, 2) pixels in the newer frame."""
    image_size: tuple[int, int]
    """Width and height of the image in pixels."""
    ids: IntArray
    """(N,) identities of the tracks; 0..N-1 where there are none."""

    def __len__(self) -> int:
        """Count the points."""
        return len(self.x1)

    @classmethod
    def from_arrays(cls, x1: npt.ArrayLike, x2: npt.ArrayLike, image_size: tuple[int, int],
                    ids: npt.ArrayLike | None = None) -> 'Correspondences':
        """Validate arrays of any float type; raises InputError with the name of what is wrong."""
        # Imported here: tracks are valid, and most robots need no other points.
        from gdm_motion_seg.geometry.validation import checked_correspondences
        return cls(*checked_correspondences(x1, x2, image_size, ids))

    def take(self, index: npt.NDArray[np.generic]) -> 'Correspondences':
        """Return some of the points, by index or mask."""
        return Correspondences(self.x1[index], self.x2[index], self.image_size, self.ids[index])
