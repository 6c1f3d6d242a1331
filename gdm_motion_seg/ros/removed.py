# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parameters of earlier versions, so that a robot with an old parameter file still starts."""

_SUBSCRIBED = 'an output is made if it has a subscriber'
_CONSTANT = 'it is a constant now'
_STREAM = 'the segmentation of a stream has no such settings any more'

REMOVED = {
    'image_depth': 'the queue holds 1 image, or 10 with image_reliability: reliable',
    'publish_motions': _SUBSCRIBED,
    'publish_markers': _SUBSCRIBED,
    'publish_debug_image': _SUBSCRIBED,
    'segmentation.effort': 'every search is complete, within segmentation.time_budget_ms',
    'segmentation.kappa_px': 'it is estimated for each motion',
    'segmentation.max_motions': 'at most 6 motions are searched',
    'stream.confirm_frames': _STREAM,
    'stream.dimension_rise': _STREAM,
    'stream.follow_every': _STREAM,
    'stream.full_search_every': _STREAM,
    'stream.hold_frames': _STREAM,
    'stream.outlier_rise': _STREAM,
    'stream.patience': _STREAM,
    'stream.residual_rise': _STREAM,
    'stream.rest': _STREAM,
    'stream.search_budget_ms': _STREAM,
    'stream.search_effort': _STREAM,
    'stream.warm_start': _STREAM,
    'tracking.forward_backward_px': _CONSTANT,
    'tracking.frame_gap_s': 'its new name is tracking.gap_s',
    'tracking.iterations': _CONSTANT,
    'tracking.levels': _CONSTANT,
    'tracking.max_side': _CONSTANT,
    'tracking.quality': _CONSTANT,
    'tracking.undistort': 'tracks are undistorted if camera_info is known (use_camera_info)',
    'tracking.window': _CONSTANT,
}
"""What replaces each parameter that earlier versions had."""


def why_removed(name: str) -> str:
    """Return a sentence about a parameter of an earlier version; empty for any other name."""
    if name not in REMOVED:
        return ''
    return f'the parameter {name!r} does not exist any more: {REMOVED[name]}'
