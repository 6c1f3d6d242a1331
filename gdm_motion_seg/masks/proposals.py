# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies that the flow proposes where there are no moving tracks."""

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks.bodies import FLOW_BODY, Names
from gdm_motion_seg.masks.kernels import FloatImage, IdImage
from gdm_motion_seg.masks.tracks import Tracks

CONTRADICTS = 2.0
"""Smoothed contradiction in nats above which a pixel contradicts the world."""
AREA = 0.002
"""Smallest share of the image that a region covers."""
PATIENCE_S = 0.2
"""Time for which a region must contradict the world before it is a body, in seconds."""
WITNESSES = 3
"""Number of static tracks inside a region that reject it."""
REFUSED = 0.12
"""Mean probability of moving of the tracks inside below which they reject a region."""
OVERLAP = 0.3
"""Share of a region on an earlier body above which it is that body."""


@dataclass(frozen=True)
class Proposals:
    """The proposals of the flow in a frame."""

    region: IdImage
    """(h, w) id of the proposed body, 0 elsewhere."""
    age: FloatImage
    """(h, w) seconds for which regions have been proposed, including this frame."""
    ids: set[int]
    """Bodies that the flow shows in this frame."""


def propose(contradiction: FloatImage, tracks: Tracks, body: IdImage, known: set[int],
            age: FloatImage, seconds: float, names: Names) -> Proposals:
    """
    Find regions that contradict the world and belong to no body with tracks.

    ``contradiction`` (h, w) is in nats. ``body`` and ``age`` (h, w) are the bodies of the last
    mask and the seconds for which regions were proposed, warped to this frame; ``known`` are the
    bodies that tracks show now, ``seconds`` is the time since the last frame.
    """
    found = Proposals(np.zeros_like(body), np.zeros_like(age), set())
    high = (cv2.GaussianBlur(contradiction, (0, 0), 1.5) > CONTRADICTS).astype(np.uint8)
    count, regions, stats, _ = cv2.connectedComponentsWithStats(high, connectivity=4)
    inside = tracks.at(regions)
    explained = np.isin(body, list(known))
    for i in range(1, count):
        if stats[i, cv2.CC_STAT_AREA] < AREA * body.size:
            continue
        here = regions == i
        mine = inside == i
        if (mine & tracks.moving).sum() >= WITNESSES:
            continue
        if explained[here].mean() > OVERLAP or _is_refused(tracks.sure[mine]):
            continue
        found.age[here] = np.percentile(age[here], 70) + seconds
        earlier = body[here & (body >= FLOW_BODY)]
        if len(earlier) > OVERLAP * here.sum():
            name = int(np.bincount(earlier - FLOW_BODY).argmax()) + FLOW_BODY
        elif found.age[here].max() >= PATIENCE_S:
            name = names.new()
        else:
            continue
        found.region[here] = name
        found.ids.add(name)
    return found


def _is_refused(sure: npt.NDArray[np.float64]) -> bool:
    """Whether enough tracks inside a region show that it is static."""
    return len(sure) >= WITNESSES and float(sure.mean()) < REFUSED
