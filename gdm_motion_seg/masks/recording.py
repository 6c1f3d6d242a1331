# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Masks of a recording, with masks of the first frames from a backward run.

In its first frames a stream has no information about motion. A recording has the following frames,
and structure from motion needs masks for all images.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.masks.bodies import FLOW_BODY
from gdm_motion_seg.masks.kernels import IdImage
from gdm_motion_seg.masks.masks import MotionMasks
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline, PipelineConfig

HEAD_S = 1.0
"""Length of the beginning that is processed backwards, in seconds."""
REPLACED_S = 0.6
"""Frames before this time get the masks of the backward run."""
MOST_FRAMES = 40
"""Largest number of frames that are kept in memory."""
BACKWARD_BODY = 2 * FLOW_BODY
"""First id of bodies that only the backward run shows."""


@dataclass(frozen=True)
class _Kept:
    image: npt.NDArray[np.generic]
    stamp: int
    instances: IdImage


class RecordingMasks:
    """Makes instance images of all frames of a recording, in order but with a delay."""

    def __init__(self, config: PipelineConfig, seed: int = 0) -> None:
        """Begin a recording; the settings are those of its pipeline."""
        self._config, self._seed = config, seed
        self._masks = MotionMasks()
        self._head: list[_Kept] | None = []

    def add(self, image: npt.NDArray[np.generic], result: FrameResult) -> list[IdImage]:
        """Add a frame and its result; returns the instance images that are now finished."""
        instances = self._masks.process(image, result)
        if self._head is None:
            return [instances]
        self._head.append(_Kept(np.array(image), result.stamp, instances))
        length = (result.stamp - self._head[0].stamp) / 1e9
        return self.finish() if length >= HEAD_S or len(self._head) == MOST_FRAMES else []

    def finish(self) -> list[IdImage]:
        """Return the remaining instance images; call it after the last frame."""
        if not self._head:
            return []
        head, self._head = self._head, None
        backward = self._backward(head)
        # In a short recording each run provides the half in which it has seen more frames.
        limit = min(REPLACED_S, 0.5e-9 * (head[-1].stamp - head[0].stamp))
        last = max(i for i, kept in enumerate(head)
                   if (kept.stamp - head[0].stamp) / 1e9 <= limit)
        names = same_bodies(backward[last], head[last].instances)
        return [renamed(backward[i], names) if i <= last else kept.instances
                for i, kept in enumerate(head)]

    def _backward(self, head: list[_Kept]) -> list[IdImage]:
        pipeline, masks = MotionPipeline(self._config, self._seed), MotionMasks()
        end, found = head[-1].stamp, []
        # Forwards first: from a cold start at the end, a large body may be taken for the world.
        for kept in head[:-1]:
            pipeline.process(kept.image, kept.stamp)
        for kept in reversed(head):
            # Stamps must increase in this run, too.
            result = pipeline.process(kept.image, 2 * end - kept.stamp)
            found.append(masks.process(kept.image, result))
        return found[::-1]


def same_bodies(ours: IdImage, theirs: IdImage) -> dict[int, int]:
    """Map each id of the first image to the id of the second that covers most of it, if any."""
    names: dict[int, int] = {}
    for body in np.unique(ours[ours > 0]).tolist():
        values, counts = np.unique(theirs[ours == body], return_counts=True)
        moving = values > 0
        if moving.any() and counts[moving].max() > 0.3 * counts.sum():
            names[body] = int(values[moving][counts[moving].argmax()])
    return names


def renamed(instances: IdImage, names: dict[int, int]) -> IdImage:
    """Return the image with new ids; other bodies get ids from a separate range."""
    out = np.zeros_like(instances)
    for body in np.unique(instances[instances > 0]).tolist():
        out[instances == body] = names.get(body, BACKWARD_BODY + body % FLOW_BODY)
    return out
