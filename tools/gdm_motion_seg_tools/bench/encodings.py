# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Agreement of the results of one clip in five encodings with those of the original."""

from collections.abc import Callable
from functools import partial
import io
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.pipeline import FrameResult, MotionPipeline
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.viz.overlay import to_bgr
from gdm_motion_seg_tools.bench.benchmark import Row
from gdm_motion_seg_tools.bench.report import make_report, Report

Image = npt.NDArray[np.uint8]
Frames = list[Image]

COMMON_PX = 1.0
"""Keypoints of two results that are nearer than this are the same."""
VIDEO = {'mjpeg': ('avi', 'yuvj420p'), 'h264': ('mp4', 'yuv420p'), 'hevc': ('mp4', 'yuv420p'),
         'vp9': ('webm', 'yuv420p')}
"""Container and pixel format of each video codec."""
JPEG_QUALITY = 90


def as_jpeg(frames: Frames, fps: float) -> Frames:
    """Encode every frame as a JPEG image."""
    quality = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY]
    return [np.asarray(cv2.imdecode(cv2.imencode('.jpg', frame, quality)[1], cv2.IMREAD_COLOR),
                       np.uint8) for frame in frames]


def as_video(codec: str, frames: Frames, fps: float) -> Frames:
    """Encode the frames as a video with the codec's default settings, and decode it again."""
    try:
        import av
    except ImportError:
        raise MissingDependencyError('encodings need PyAV: pip install av') from None
    container, pixels = VIDEO[codec]
    file = io.BytesIO()
    height, width = (side - side % 2 for side in frames[0].shape[:2])
    with av.open(file, 'w', format=container) as output:
        stream = output.add_stream(codec, rate=round(fps))
        stream.width, stream.height, stream.pix_fmt = width, height, pixels
        for frame in frames:
            picture = av.VideoFrame.from_ndarray(
                np.ascontiguousarray(frame[:height, :width]), format='bgr24')
            output.mux(stream.encode(picture))
        output.mux(stream.encode())
    file.seek(0)
    with av.open(file) as source:
        return [np.asarray(f.to_ndarray(format='bgr24'), np.uint8)
                for f in source.decode(video=0)]


ENCODINGS: dict[str, Callable[[Frames, float], Frames]] = {
    'jpeg': as_jpeg,
    **{codec: partial(as_video, codec) for codec in VIDEO}}


def answers_of(frames: Frames, fps: float) -> list[FrameResult]:
    """Run frames through a pipeline with the node's defaults."""
    pipeline = MotionPipeline(NodeConfig())
    return [pipeline.process(frame, round((i + 1) / fps * 1e9)) for i, frame in enumerate(frames)]


def compare(plain: list[FrameResult], other: list[FrameResult]) -> Row:
    """Return how often the number of bodies and the common keypoints agree."""
    same, agree, common = [], 0, 0
    for a, b in zip(plain, other):
        if not (a.has_pair and b.has_pair):
            continue
        same.append(len([m for m in a.motions if not m.is_world])
                    == len([m for m in b.motions if not m.is_world]))
        if len(a.labels) and len(b.labels):
            distance, near = cKDTree(b.correspondences.x2).query(a.correspondences.x2)
            both = np.flatnonzero(distance < COMMON_PX)
            agree += int(((a.moving[both] > 0.5) == (b.moving[near[both]] > 0.5)).sum())
            common += len(both)
    return {'same_bodies': float(np.mean(same)) if same else 0.0,
            'keypoints_agree': agree / max(1, common), 'keypoints_common': common}


def measure_encodings(path: Path) -> Report:
    """Measure one video or folder of images."""
    with open_source(path) as source:
        fps = source.fps
        frames = [to_bgr(frame.image) for frame in source]
    plain = answers_of(frames, fps)
    rows = [{'encoding': name, **compare(plain, answers_of(encode(frames, fps), fps))}
            for name, encode in ENCODINGS.items()]
    worst = {key: min(float(row[key]) for row in rows) for key in ('same_bodies',
                                                                   'keypoints_agree')}
    return make_report('footage', {'gdm': worst}, rows)
