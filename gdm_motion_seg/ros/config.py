# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of the node, with those of the pipeline in groups."""

from dataclasses import dataclass

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.pipeline import PipelineConfig
from gdm_motion_seg.settings import setting

DEFAULT_METHOD = 'gdm'


@dataclass(frozen=True)
class NodeConfig(PipelineConfig):
    """Settings of the node ``motion_seg``."""

    autostart: bool = setting(
        True, 'Whether the node configures and activates itself when it starts.', runtime=False)
    image_transport: str = setting(
        'raw', 'Type of the image topic: raw (Image) or compressed (CompressedImage).',
        choices=('raw', 'compressed'), runtime=False)
    image_reliability: str = setting(
        'best_effort',
        'Reliability of the image subscription; best_effort takes images from any publisher.',
        choices=('best_effort', 'reliable'), runtime=False)
    use_camera_info: bool = setting(
        True, 'Whether to use camera_info, for rays, poses and the correction of lens distortion.',
        runtime=False)
    adapt: bool = setting(
        True, 'Whether the number of tracks (at least 500) and the effort are reduced if the '
        'machine is too slow for the image rate.')
    drawing_rate_hz: float = setting(
        15.0, 'Highest rate of ~/markers and ~/debug_image; the other outputs do not wait for '
        'them.', low=0.1, high=1000.0, unit='Hz',
        advanced=True)
    mask_dilation_px: int = setting(
        0, 'Pixels by which moving regions grow in ~/mask.', low=0, high=1000, unit='px')
    mask_moving_is_white: bool = setting(
        True, 'Whether ~/mask is 255 on what moves and 0 elsewhere; otherwise the reverse.')
    jpeg_quality: int = setting(
        80, 'JPEG quality of ~/debug_image/compressed.', low=1, high=100, unit='%', advanced=True)
    diagnostics_period_s: float = setting(
        1.0, 'Time between two diagnostics messages.', low=0.1, high=60.0, unit='s',
        advanced=True)
    watchdog_s: float = setting(
        5.0, 'The diagnostics report a problem after this time without an image, or without an '
        'answer while images arrive.', low=0.5, high=3600.0, unit='s', advanced=True)
    seed: int = setting(
        0, 'Seed of all random numbers.', low=0, high=1_000_000_000,
        runtime=False, advanced=True)

    def __post_init__(self) -> None:
        """Check every setting, and those that depend on each other."""
        super().__post_init__()
        segmentation = self.segmentation
        if segmentation.method != DEFAULT_METHOD and segmentation.n_motions == 0:
            raise InputError(f'segmentation.n_motions must be at least 1 with the method '
                             f'{segmentation.method}, which cannot find their number')
