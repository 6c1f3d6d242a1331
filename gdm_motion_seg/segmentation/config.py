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
        choices=('gdm', 'gdm-paper', 'gdm-naive', 'gdm-known-fraction', 'gdm-model-reassign'),
        advanced=True)
    n_motions: int = setting(
        AUTO, 'Number of motions, the static world included; 0 finds it.', low=0, high=20,
        advanced=True)
    time_budget_ms: float = setting(
        0.0, 'Time limit of the search of a pair, which then returns the best so far; 0 for none.',
        low=0.0, high=60000.0, unit='ms', advanced=True)
    gdm: GdmConfig = field(default_factory=GdmConfig)
    effort: float = 1.0
    """Share of the samples of a search. Not a setting: the node lowers it on a slow machine."""
