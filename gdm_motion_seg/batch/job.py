# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of a batch, and the keys by which finished work is recognised."""

from dataclasses import asdict, dataclass
from functools import lru_cache
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import gdm_motion_seg
from gdm_motion_seg.batch.recordings import Recording
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.pipeline import PipelineConfig
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.settings import settings_of, to_flat, with_flat

LAYOUT = 1
"""Version of the files in the output folder."""
SPLIT_S = 20.0
"""Length of a part in seconds. With longer parts the overlaps take a smaller share; with shorter
parts less work is lost if a worker dies, and other workers can begin sooner."""
OVERLAP_S = 2.0
"""Time before a part at which its segmentation begins: twice the memory of the evidence (about a
second). Ids are remembered for three seconds; a longer overlap may agree better and costs more."""
OVERLAP_FRAMES = 20
"""Smallest number of frames of the overlap, for cameras with a low rate."""
FEWEST_WITH_HALVES = 4
"""With this many parts or more, the first and the last one are half as long."""
SEGMENTED_FRAMES = 30
"""Number of frames of the overlap that are segmented, for cameras with a high rate. With 20 of
60, at least 0.9998 of the labels agree on rendered scenes; with 10, 0.88 in the worst case."""
NOT_COMPUTING = ('cli/', 'ros/', 'viz/', 'resources.py', '__main__.py', 'batch/cluster.py',
                 'batch/preload.py', 'batch/query.py', 'batch/recordings.py', 'batch/report.py',
                 'batch/run.py')
"""Modules of the package that do not affect results."""


@dataclass(frozen=True)
class Job:
    """Settings of a batch, the same for all recordings; they are sent to the workers."""

    out: str
    """Path or address of the output folder."""
    settings: dict[str, Any]
    """Settings of the pipeline and ``seed`` by name."""
    code: str
    """Digest of the code that computes."""
    run: str = ''
    """Name of this run of the command."""
    topic: str | None = None
    fps: float | None = None
    split: float = SPLIT_S
    """Length of a part in seconds; 0 does not divide recordings."""
    overlap: float = OVERLAP_S
    keypoints: bool = True
    """Whether the table of keypoints is written, which is the largest."""

    def __post_init__(self) -> None:
        """Refuse parts that are too short for their overlap."""
        if self.split and self.split < 2 * self.overlap:
            raise InputError(f'parts of {self.split:g} s are too short for an overlap of '
                             f'{self.overlap:g} s; they must be at least twice as long')

    @property
    def config(self) -> NodeConfig:
        """Return the settings of the pipeline."""
        return with_flat(NodeConfig(), self.settings)

    @property
    def settings_digest(self) -> str:
        """Return a digest of everything that affects results besides recording and code."""
        values = {name: value for name, value in asdict(self).items()
                  if name not in ('out', 'code', 'run')}
        mask = self.settings.get('tracking.mask_path')
        return _digest(LAYOUT, values, _file_digest(str(mask)) if mask else '')

    def key(self, recording: Recording) -> str:
        """Return the key of a result, which depends on input, settings and code."""
        return _digest(self.settings_digest, self.code, recording.fingerprint)

    def parts(self, seconds: float | None, fps: float) -> list['Part']:
        """
        Divide a recording into parts; a single one if it is short.

        They have the same length, but if there are many, the first and the last one have half of
        it: other workers wait for the tracks of the first part, and nobody helps with the last.
        """
        if not self.split or not seconds or not math.isfinite(seconds):
            return [Part(0)]
        count = max(1, round(seconds / self.split))
        overlap = max(self.overlap, OVERLAP_FRAMES / fps)
        half = seconds / (count - 1) / 2.0 if count >= FEWEST_WITH_HALVES else 0.0
        ends = [half + 2.0 * half * i for i in range(count - 1)] if half >= 2 * overlap else [
            i * seconds / count for i in range(1, count)]
        # Whole milliseconds, so that both sides of a seam compare times with the same number.
        seams = [round(seam, 3) for seam in (0.0, *ends)]
        stops = [*seams[1:], math.inf]
        if count == 1 or seams[1] < 2 * overlap:
            return [Part(0)]
        return [Part(i, count, max(0.0, round(seam - overlap, 3)), seam, stop,
                     min(stop, seconds) - seam)
                for i, (seam, stop) in enumerate(zip(seams, stops))]


@dataclass(frozen=True)
class Part:
    """A part of a recording; times are in seconds since its beginning."""

    index: int
    count: int = 1
    warm_up: float = 0.0
    """Where the segmentation begins; results before ``start`` are used for stitching only."""
    start: float = 0.0
    stop: float = math.inf
    length: float = math.inf
    """Length without the overlap."""


def make_job(out: str, config: NodeConfig, **values: Any) -> Job:
    """Make a job with these settings and the digest of the code of this process."""
    names = {s.name for s in settings_of(PipelineConfig)} | {'seed'}
    settings = {name: value for name, value in to_flat(config).items() if name in names}
    return Job(out, settings, code_digest(), **values)


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Return the version of the package and a digest of the sources that compute."""
    root = Path(gdm_motion_seg.__file__).parent
    total = hashlib.sha256()
    for path in sorted(root.rglob('*.py')):
        name = path.relative_to(root).as_posix()
        if not name.startswith(NOT_COMPUTING):
            total.update(name.encode() + b'\0' + path.read_bytes())
    return f'{gdm_motion_seg.__version__}+{total.hexdigest()[:12]}'


def _digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:20]


def _file_digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f'{path} cannot be read: {error.strerror}') from None
