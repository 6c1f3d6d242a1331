# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of the segmentation of a stream of pairs."""

from dataclasses import dataclass

from gdm_motion_seg.segmentation.config import LEAST_EFFORT
from gdm_motion_seg.settings import Config, setting


@dataclass(frozen=True)
class StreamConfig(Config):
    """Settings of what one answer takes over from the last."""

    warm_start: bool = setting(
        True, 'Whether a pair starts from the partition of the last one; otherwise each is '
        'searched from scratch.')
    follow_every: int = setting(
        4, 'The solver looks at least once in so many pairs; in between the last partition is '
        'kept where it holds.', low=1, high=1000)
    full_search_every: int = setting(
        150, 'A full search at least once in so many pairs; 0 for only when the answer is bad.',
        low=0, high=100000)
    search_effort: float = setting(
        0.1, 'Effort of the first search in a stream, as a share of that for a single pair; later '
        'ones take a quarter of it. It is no time limit, so that the same images give the same '
        'answers, live and offline.', low=LEAST_EFFORT, high=1.0)
    rest: int = setting(
        5, 'Pairs after a full search in which a bad answer asks for no other.', low=0, high=10000)
    outlier_rise: float = setting(
        0.08, 'Rise of the share of outliers over its recent course that calls for a full search.',
        low=0.0, high=1.0)
    residual_rise: float = setting(
        1.5, 'Factor of the median residual over its recent course that calls for a full search.',
        low=1.0, high=100.0)
    dimension_rise: float = setting(
        0.4, 'Rise of the global dimension over its recent course that calls for a full search.',
        low=0.0, high=100.0)
    confirm_frames: int = setting(
        3, 'Answers in which a new motion must be found before it is reported.', low=1, high=1000)
    hold_frames: int = setting(
        4, 'Successive answers that may miss a motion before it is dropped, while its tracks '
        'still move as one.', low=0, high=1000)
    patience: int = setting(
        6, 'Successive answers against it after which a track changes its motion.',
        low=1, high=1000)
