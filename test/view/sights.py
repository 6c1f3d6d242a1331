# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Results and frames for viewers, without a pipeline."""

from collections.abc import Sequence

import numpy as np

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation
from gdm_motion_seg.view.feeds import encode_jpeg, Sight
from gdm_motion_seg.view.moments import moment_of

NONE = np.full((3, 3), np.nan)


def result_at(index: int, size: tuple[int, int] = (160, 120),
              bodies: Sequence[int] = (1, 2)) -> FrameResult:
    """Return the answer for a frame in which bodies of four tracks each move to the right."""
    corners = np.array([[0, 0], [20, 0], [0, 20], [20, 20]], float)
    places, labels, motions = [np.array([[5.0, 5.0], [150.0, 110.0]])], [0, 0], []
    motions.append(Motion(0, np.array([0, 1]), MotionKind.GENERAL, '', NONE, NONE, 5., .1, 1.))
    for k, body in enumerate(bodies):
        at = corners + (30 + 50 * k + index, 40)
        members = np.arange(4) + len(labels)
        motions.append(Motion(body, members, MotionKind.PLANAR, '', NONE, NONE, 5., .1, 1.,
                              box=(*at.min(axis=0), *at.max(axis=0)), moving=0.9))
        labels += [body] * 4
        places.append(at)
    x2 = np.vstack(places)
    answer = MotionSegmentation(np.array(labels), tuple(motions), np.zeros(len(labels)),
                                moving=(np.array(labels) > 0).astype(np.float64))
    stamp = 10**9 + index * 100_000_000
    pair = Correspondences.from_arrays(x2 - (2.0, 0.0), x2, size)
    return FrameResult(stamp, stamp - 100_000_000, 1, pair, answer)


def sight_at(index: int, size: tuple[int, int] = (160, 120),
             bodies: Sequence[int] = (1, 2)) -> Sight:
    """Return a frame to be shown, whose picture is grey and has its index as brightness."""
    picture = np.full((size[1], size[0], 3), index % 256, np.uint8)
    return Sight(moment_of(result_at(index, size, bodies), 12.5), lambda: encode_jpeg(picture))
