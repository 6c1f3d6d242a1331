# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of the feature tracker."""

from dataclasses import dataclass

from gdm_motion_seg.settings import Config, setting


@dataclass(frozen=True)
class TrackingConfig(Config):
    """Settings of feature tracking and of the pairing of frames."""

    max_tracks: int = setting(
        500, 'Largest number of tracks that are followed at once.', low=8, high=20000)
    frame_gap: int = setting(
        5, 'Frames between the two frames of a pair; used when frame_gap_s is 0.', low=1, high=300)
    frame_gap_s: float = setting(
        0.0, 'Time between the two frames of a pair; 0 counts frames instead.',
        low=0.0, high=60.0, unit='s')
    every_n: int = setting(
        1, 'Segment every n-th frame; the others are only tracked.', low=1, high=1000)
    min_distance: float = setting(
        0.012, 'Smallest distance of a new corner from any other track, as a share of the longer '
        'image side.', low=0.001, high=0.5)
    quality: float = setting(
        0.005, 'Weakest corner that is taken, as a share of the strongest in the image.',
        low=1e-6, high=1.0)
    window: int = setting(
        13, 'Side of the window that Lucas-Kanade compares.', low=5, high=63, unit='px')
    levels: int = setting(
        3, 'Halvings of the image in the pyramid up to 640 px, one more for each doubling of the '
        'image; each doubles the displacement that can be followed between two frames.',
        low=0, high=8)
    iterations: int = setting(
        12, 'Largest number of Lucas-Kanade steps on each level.', low=1, high=100)
    forward_backward_px: float = setting(
        0.4, 'Tracks that do not come back to within this distance when followed backwards are '
        'dropped.', low=0.05, high=50.0, unit='px')
    max_pause_s: float = setting(
        1.0, 'A longer pause between two frames starts afresh.', low=0.01, high=3600.0, unit='s')
    mask_path: str = setting(
        '', 'Image of the size of the camera image; where it is black (a part of the robot, say) '
        'nothing is tracked. Empty for none.')
    max_side: int = setting(
        1920, 'Images with a longer side are tracked at this size; positions are those of the '
        'image all the same.', low=64, high=20000, unit='px')
    undistort: bool = setting(
        True, 'Whether tracks are freed from lens distortion where the camera is known.')
    max_image_pixels: int = setting(
        40_000_000, 'Larger images are refused.', low=1, high=1_000_000_000, unit='px')
