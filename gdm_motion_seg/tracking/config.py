# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of the feature tracker."""

from dataclasses import dataclass

from gdm_motion_seg.settings import Config, setting


@dataclass(frozen=True)
class TrackingConfig(Config):
    """Settings of feature tracking and of the pairing of frames."""

    max_tracks: int = setting(500, 'Largest number of tracks that are followed at once.', low=8, high=20000)
    frame_gap: int = setting(
        5, 'Frames between the two frames of a pair; used when frame_gap_s is 0.', low=1, high=300)
    frame_gap_s: float = setting(
        0.0, 'Time between the two frames of a pair; 0 counts frames instead.', low=0.0, high=60.0, unit='s')
    every_n: int = setting(1, 'Segment every n-th frame; the others are only tracked.', low=1, high=1000)
