# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The segmentation of one window after the other: world first, then bodies, then names."""

from dataclasses import replace

import cv2
import numpy as np

from gdm_motion_seg.arrays import FloatArray, IntArray, Mask
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.focal import FocalLength
from gdm_motion_seg.segmentation import constants
from gdm_motion_seg.segmentation.bodies import partition
from gdm_motion_seg.segmentation.config import SegmentationConfig
from gdm_motion_seg.segmentation.graph import Graph, image_graph
from gdm_motion_seg.segmentation.motions import estimate_motions
from gdm_motion_seg.segmentation.naming import Names, Tracks
from gdm_motion_seg.segmentation.result import (
    FIRST_BODY, MotionSegmentation, NEW, OUTLIER, WORLD)
from gdm_motion_seg.segmentation.world import WorldEstimator
from gdm_motion_seg.tracking.window import Window


class StreamSegmenter:
    """Segments the windows of one stream."""

    def __init__(self, config: SegmentationConfig | None = None, seed: int = 0) -> None:
        """Start without a past; the seed is that of every random sample."""
        self.config = config or SegmentationConfig()
        """Settings; they may change between two windows."""
        self._seed = seed
        self._last_stamp = 0
        self._world = WorldEstimator()
        self._names = Names()
        self._focal = FocalLength()

    def reset(self) -> None:
        """Forget the past; ids that were given are not given again."""
        self._world.reset()
        self._names.reset()

    def segment(self, window: Window, stamp: int, camera: Camera) -> MotionSegmentation:
        """Label the tracks of a window and estimate the motions of its pair."""
        if self.config.n_motions or self.config.method != 'gdm':
            return self._segment_pair(window, stamp, camera)
        camera = self._focal.applied_to(camera)
        tracks = self._names.recall(window.ids)
        graph = image_graph(window.x, window.x - window.before[0], window.image_size[0])
        evident = evident_bodies(tracks)
        doubt = self._world.contradiction(
            window, evident | joins_body(tracks['label'], graph), camera, self._seed_at(stamp))
        doubt = self._smoothed(doubt, tracks, stamp)
        parts = partition(window, doubt, tracks['label'], evident, graph, camera)
        if camera.is_guess and (pose := self._world.pose) is not None:
            static = parts.labels == WORLD
            self._focal.learn(window.before[0][static], window.x[static],
                              window.covariance[static], pose, camera)
        labels = self._names.assign(tracks, parts.labels, doubt, stamp)
        moving = moving_probability(parts.labels, parts.advantage, doubt)
        return estimate_motions(window.pair, labels, moving, self._world.pair, camera,
                                self._names.since)

    def _seed_at(self, stamp: int) -> int:
        """Return the seed of a frame, which does not depend on where the stream began."""
        return (self._seed + stamp // 1000) % 2 ** 32

    def _segment_pair(self, window: Window, stamp: int, camera: Camera) -> MotionSegmentation:
        """Segment the pair alone: with a given number of motions, or by a method of the paper."""
        # Imported here: without these settings the search on single pairs is not needed.
        from gdm_motion_seg.segmentation.segment import segment_correspondences
        answer = segment_correspondences(window.pair, self.config, self._seed_at(stamp),
                                         camera=camera)
        if not answer.motions:
            return replace(answer, moving=np.zeros(len(window)))
        # The motion with the largest hull is the world.
        hulls = [hull_area(window.x[answer.labels == k]) for k in range(answer.n_motions)]
        rank = np.argsort(np.argsort(-np.array(hulls), kind='stable'), kind='stable')
        labels = np.append(rank, OUTLIER)[answer.labels]
        nothing = np.zeros(len(labels))
        labels = self._names.assign(self._names.recall(window.ids), labels, nothing, stamp)
        moving = (labels >= FIRST_BODY).astype(np.float64)
        return estimate_motions(window.pair, labels, moving, None, camera, self._names.since)

    def _smoothed(self, doubt: FloatArray, tracks: Tracks, stamp: int) -> FloatArray:
        """
        Average the evidence of each track over time, for longer within a body.

        A body may move along the epipolar lines of the world for a moment.
        """
        elapsed, self._last_stamp = (stamp - self._last_stamp) / 1e9, stamp
        memory = np.where(tracks['label'] >= FIRST_BODY, constants.BODY_MEMORY_S,
                          constants.MEMORY_S)
        old = 0.5 ** (max(elapsed, 0.0) / memory)
        before = tracks['doubt']
        return np.where(np.isfinite(before), old * before + (1.0 - old) * doubt, doubt)


def evident_bodies(tracks: Tracks) -> Mask:
    """
    Tell which tracks belonged to a body with strong evidence, or to a large one.

    A body with weak evidence may be a static part of the scene that an error of the world made a
    body. So its tracks vote for the world: if they did not, the error would stay. The tracks of a
    large body do not, because they could outvote the world.
    """
    label: IntArray = np.maximum(tracks['label'], WORLD)
    counts = np.maximum(np.bincount(label), 1)
    mean = np.bincount(label, np.nan_to_num(tracks['doubt'])) / counts
    kept = (mean >= constants.OUTLIER) | (counts >= constants.LARGE * len(label))
    return np.asarray((label >= FIRST_BODY) & kept[label])


def joins_body(previous: IntArray, graph: Graph) -> Mask:
    """
    Tell which tracks are new and have neighbours of like flow that belonged to a body.

    The new tracks on a large body are many: they would vote for a world that moves with it.
    """
    vote = np.where(previous >= FIRST_BODY, 1.0, np.where(previous == WORLD, -1.0, 0.0))
    like = graph.bond >= graph.like
    votes = np.bincount(graph.row[like], vote[graph.neighbour[like]], len(previous))
    return np.asarray((previous == NEW) & (votes > 0.0))


def hull_area(points: FloatArray) -> float:
    """Return the area of the convex hull of points."""
    if len(points) < 3:
        return 0.0
    return float(cv2.contourArea(cv2.convexHull(points.astype(np.float32))))


def moving_probability(labels: IntArray, advantage: FloatArray, doubt: FloatArray) -> FloatArray:
    """
    Return how sure it is that each track moves, in [0, 1].

    Within a body it is a logistic function of the nats by which the body explains the track better
    than the world does, and at least one half. Its slope is below 1, because neighbours share
    their errors. A track on its own that contradicts the world is more often a wrong match than a
    body: it stays below one half.
    """
    alone = 0.5 / (1.0 + np.exp(np.clip(constants.OUTLIER - doubt, -50.0, 50.0)))
    odds = advantage / constants.SUSPICIOUS - 1.0
    inside = 1.0 / (1.0 + np.exp(np.clip(-odds, -50.0, 50.0)))
    return np.where(labels >= FIRST_BODY, np.maximum(inside, 0.5 + 1e-6), alone)
