# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of the feature tracker."""

from dataclasses import dataclass

from gdm_motion_seg.settings import Config, setting


@dataclass(frozen=True)
class TrackingConfig(Config):
    """Settings of feature tracking and of the pairing of frames."""

    max_tracks: int = setting(
        1500, 'Largest number of tracks.', low=8, high=20000)
    min_distance: float = setting(
        0.00625, 'Smallest distance of a new corner from any other track, as a share of the '
        'longer image side.', low=0.001, high=0.5, advanced=True)
    gap_s: float = setting(
        0.2, 'Time between the two frames of a pair.', low=0.01, high=60.0, unit='s')
    frame_gap: int = setting(
        0, 'Frames between the two frames of a pair; 0 uses gap_s.', low=0, high=300,
        advanced=True)
    every_n: int = setting(
        1, 'Segment every n-th frame; the others are only tracked.', low=1, high=1000)
    max_pause_s: float = setting(
        1.0, 'After a longer pause between two frames, tracking restarts.', low=0.01,
        high=3600.0, unit='s', advanced=True)
    mask_path: str = setting(
        '', 'Image file of the size of the camera image; nothing is tracked where it is '
        'black (parts of the robot, for instance). Empty for none.')
    max_image_pixels: int = setting(
        40_000_000, 'Larger images are refused.', low=1, high=1_000_000_000, unit='px',
        advanced=True)
