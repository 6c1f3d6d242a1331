# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Score and pictures of the demo, from the rendered bag and the bag of results."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.answers import NAMESPACE
from gdm_motion_seg.io.bags import BagReader
from gdm_motion_seg.io.folders import write_image
from gdm_motion_seg.io.videos import VideoWriter
from gdm_motion_seg.msgs.clouds import Rows, stamp_of
from gdm_motion_seg.msgs.images import decode_compressed
from gdm_motion_seg.msgs.reading import rows_from_cloud
from gdm_motion_seg.view.moments import Moment, moment_from_rows
from gdm_motion_seg_tools.synth.score import Score, Scorer
from gdm_motion_seg_tools.synth.truth import Truth

Image = npt.NDArray[np.uint8]
KEYPOINTS = f'{NAMESPACE}/keypoints'
MOTIONS = f'{NAMESPACE}/motions'
OVERLAY = f'{NAMESPACE}/debug_image/compressed'


def score_answers(answers: Path, truth: Truth) -> Score:
    """Score the keypoints of a bag of results; ``dt`` identifies the older frame of a pair."""
    scorer = Scorer(truth)
    older: dict[int, int] = {}
    keypoints: dict[int, Any] = {}
    stamps = np.array([frame.stamp for frame in truth.frames])
    with BagReader(answers) as bag:
        for topic, _, message in bag.messages(KEYPOINTS, MOTIONS):
            stamp, rows = stamp_of(message.header), rows_from_cloud(message)
            if topic == KEYPOINTS:
                keypoints[stamp] = rows
            elif len(rows):
                then = stamp - round(float(rows['dt'][0]) * 1e9)
                older[stamp] = int(stamps[np.abs(stamps - then).argmin()])
    for stamp in sorted(older.keys() & keypoints.keys()):
        rows = keypoints[stamp]
        scorer.add(older[stamp], stamp, np.column_stack((rows['u'], rows['v'])), rows['label'])
    return scorer.score()


def overlays(answers: Path) -> Iterator[tuple[int, Image]]:
    """Yield stamp and picture of each overlay in a bag of results, in the order of stamps."""
    with BagReader(answers) as bag:
        found = {stamp_of(message.header): message for _, _, message in bag.messages(OVERLAY)}
    for stamp in sorted(found):
        yield stamp, np.asarray(decode_compressed(found[stamp]), np.uint8)


def moments(answers: Path, truth: Truth, size: tuple[int, int]) -> list[Moment]:
    """Return a moment for each frame of the video; a frame without a result gets the next one."""
    found: dict[int, dict[str, Rows]] = {}
    with BagReader(answers) as bag:
        for topic, _, message in bag.messages(KEYPOINTS, MOTIONS):
            found.setdefault(stamp_of(message.header), {})[topic] = rows_from_cloud(message)
    shown: list[Moment] = []
    waiting = iter(frame.stamp for frame in truth.frames)
    for stamp in sorted(stamp for stamp, rows in found.items() if len(rows) == 2):
        points, motions = found[stamp][KEYPOINTS], found[stamp][MOTIONS]
        flow = np.column_stack((points['u'] - points['u_prev'], points['v'] - points['v_prev']))
        for due in waiting:
            shown.append(moment_from_rows(due, size, motions, points['label'].astype(np.int64),
                                          flow))
            if due >= stamp:
                break
    return shown


def write_pictures(answers: Path, truth: Truth, video: Path, sheet: Path, fps: float) -> None:
    """Write the overlays as a video, and some of them as a contact sheet."""
    stamps = [frame.stamp for frame in truth.frames]
    chosen = {stamps[round(i)] for i in np.linspace(0.12, 0.98, 6) * (len(stamps) - 1)}
    tiles: list[Image] = []
    waiting = iter(stamps)
    writer = VideoWriter(video, fps)
    for stamp, picture in overlays(answers):
        # For a frame that the node dropped, the last overlay is repeated.
        for due in waiting:
            writer.write(picture)
            if due in chosen:
                tiles.append(cv2.resize(picture, (480, 360), interpolation=cv2.INTER_AREA))
            if due >= stamp:
                break
    writer.close()
    if not tiles:
        raise InputError('the node published no overlay')
    while len(tiles) % 3:
        tiles.append(np.zeros_like(tiles[0]))
    rows = [np.hstack(tiles[i:i + 3]) for i in range(0, len(tiles), 3)]
    write_image(sheet, np.vstack(rows))
