# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Mask what moves in a folder of images, for COLMAP.

    python mask_for_colmap.py IMAGES MASKS
    colmap feature_extractor --database_path DB --image_path IMAGES --ImageReader.mask_path MASKS
"""

from pathlib import Path
import sys

from gdm_motion_seg import MotionPipeline, PipelineConfig
from gdm_motion_seg.io.masks import MaskFiles
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.masks.recording import RecordingMasks


def main(images: Path, masks: Path, frames_per_second: float = 30.0) -> None:
    """Write one mask per image: 0 on what moves, 255 elsewhere."""
    config = PipelineConfig()
    pipeline, files = MotionPipeline(config), MaskFiles(RecordingMasks(config), masks, None)
    with open_source(images, fps=frames_per_second) as source:
        for frame in source:
            files.write(frame, pipeline.process(frame.image, frame.stamp))
    files.close()


if __name__ == '__main__':
    main(Path(sys.argv[1]), Path(sys.argv[2]))
