# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of the segmentation of correspondences into motions."""

from dataclasses import dataclass, field

from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.settings import Config, setting

AUTO = 0
"""``n_motions``: let the segmentation find the number of motions."""
LEAST_EFFORT = 0.01
"""Below this, ``effort`` would leave no start at all."""


@dataclass(frozen=True)
class SegmentationConfig(Config):
    """Settings of ``segment_motions``."""

    method: str = setting(
        'gdm', 'The method: gdm (the robust default) or one of the four variants of the paper.',
        choices=('gdm', 'gdm-paper', 'gdm-naive', 'gdm-known-fraction', 'gdm-model-reassign'))
    n_motions: int = setting(AUTO, 'Number of motions; 0 finds it.', low=0, high=20)
    max_motions: int = setting(
        6, 'Largest number of motions when it is to be found.', low=1, high=20)
    kappa_px: float = setting(
        0.0, 'Largest Sampson distance of an inlier; 0 estimates it for each motion.',
        low=0.0, high=100.0, unit='px')
    effort: float = setting(
        1.0, 'Share of the starts of a full search that are made; less is faster and misses more.',
        low=LEAST_EFFORT, high=1.0)
    time_budget_ms: float = setting(
        0.0, 'Time after which the search answers with the best found so far; 0 for no limit.',
        low=0.0, high=60000.0, unit='ms')
    gdm: GdmConfig = field(default_factory=GdmConfig)
