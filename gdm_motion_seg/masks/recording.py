# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Masks of a recording: those of the first frames are made afterwards, from a run backwards.

A stream knows nothing of motion in its first frames. Who has all frames can look at what follows;
structure from motion needs masks for all of its images.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks.bodies import FLOW_BODY
from gdm_motion_seg.masks.kernels import IdImage
from gdm_motion_seg.masks.masks import MotionMasks
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline, PipelineConfig

HEAD_S = 1.0
"""Length of the beginning that is run through backwards, in seconds."""
REPLACED_S = 0.6
"""Frames before this time get the masks of the run backwards."""
MOST_FRAMES = 40
"""Frames of the beginning that are kept in memory."""
BACKWARD_BODY = 2 * FLOW_BODY
"""Ids from here on are bodies that only the run backwards shows."""


@dataclass(frozen=True)
class _Kept:
    image: npt.NDArray[np.generic]
    stamp: int
    instances: IdImage


class RecordingMasks:
    """Makes instance images of all frames of a recording, in order but with a delay."""

    def __init__(self, config: PipelineConfig, seed: int = 0) -> None:
        """Begin a recording; the settings are those of the pipeline that answers it."""
        self._config, self._seed = config, seed
        self._masks = MotionMasks()
        self._head: list[_Kept] | None = []

    def add(self, image: npt.NDArray[np.generic], result: FrameResult) -> list[IdImage]:
        """Take a frame and its answer; return the instance images that are now finished."""
        instances = self._masks.process(image, result)
        if self._head is None:
            return [instances]
        self._head.append(_Kept(np.array(image), result.stamp, instances))
        length = (result.stamp - self._head[0].stamp) / 1e9
        return self.finish() if length >= HEAD_S or len(self._head) == MOST_FRAMES else []

    def finish(self) -> list[IdImage]:
        """Return the instance images that were held back; call it after the last frame."""
        if not self._head:
            return []
        head, self._head = self._head, None
        backward = self._backward(head)
        # Of a short recording each run gets the half in which it has seen more.
        limit = min(REPLACED_S, 0.5e-9 * (head[-1].stamp - head[0].stamp))
        last = max(i for i, kept in enumerate(head)
                   if (kept.stamp - head[0].stamp) / 1e9 <= limit)
        names = same_bodies(backward[last], head[last].instances)
        return [renamed(backward[i], names) if i <= last else kept.instances
                for i, kept in enumerate(head)]

    def _backward(self, head: list[_Kept]) -> list[IdImage]:
        pipeline, masks = MotionPipeline(self._config, self._seed), MotionMasks()
        end, found = head[-1].stamp, []
        for kept in reversed(head):
            # Time runs forward in this run, too.
            result = pipeline.process(kept.image, 2 * end - kept.stamp)
            found.append(masks.process(kept.image, result))
        return found[::-1]


def same_bodies(ours: IdImage, theirs: IdImage) -> dict[int, int]:
    """Return which id of the second image covers most of each id of the first, if any does."""
    names: dict[int, int] = {}
    for body in np.unique(ours[ours > 0]).tolist():
        values, counts = np.unique(theirs[ours == body], return_counts=True)
        moving = values > 0
        if moving.any() and counts[moving].max() > 0.3 * counts.sum():
            names[body] = int(values[moving][counts[moving].argmax()])
    return names


def renamed(instances: IdImage, names: dict[int, int]) -> IdImage:
    """Return the image with other ids; a body without a new one gets one from a range apart."""
    out = np.zeros_like(instances)
    for body in np.unique(instances[instances > 0]).tolist():
        out[instances == body] = names.get(body, BACKWARD_BODY + body % FLOW_BODY)
    return out
