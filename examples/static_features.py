# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Feed masks to a feature tracker: corners are looked for only where nothing moves.

    python static_features.py VIDEO_OR_FOLDER
"""

from pathlib import Path
import sys

import cv2

from gdm_motion_seg import motion_mask, MotionMasks, MotionPipeline
from gdm_motion_seg.io.sources import open_source


def main(path: Path) -> list[int]:
    """Print, per frame, how many corners lie on the static world and how many were left out."""
    pipeline, masks, counts = MotionPipeline(), MotionMasks(), []
    with open_source(path) as source:
        for frame in source:
            instances = masks.process(frame.image, pipeline.process(frame.image, frame.stamp))
            static = motion_mask(instances, dilation=5, moving_is_white=False)
            grey = cv2.cvtColor(frame.image, cv2.COLOR_BGR2GRAY)
            corners = [cv2.goodFeaturesToTrack(grey, 500, 0.01, 8, mask=mask)
                       for mask in (None, static)]
            everywhere, kept = (0 if found is None else len(found) for found in corners)
            print(f'{frame.stamp / 1e9:.3f} s: {kept} corners, {everywhere - kept} fewer than '
                  f'without the mask, {(static == 0).mean():.1%} of the image moves')
            counts.append(kept)
    return counts


if __name__ == '__main__':
    main(Path(sys.argv[1]))
