# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A rendered scene with ground truth, and a client of the node's topics."""

from collections.abc import Iterator
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

from gdm_motion_seg_tools.bench.faults import Moment
from gdm_motion_seg_tools.synth.render import Renderer
from gdm_motion_seg_tools.synth.scenes import scene_named
from gdm_motion_seg_tools.synth.truth import Truth, UNSCORED

if TYPE_CHECKING:
    from gdm_motion_seg_tools.ros.session import Session

GAP = 5
FRAMES = 26
PERIOD = 33_333_333
FRAME_ID = 'camera'


class SceneStream:
    """A short stream of frames of a small moving body and a moving camera."""

    settings = {'tracking.frame_gap': GAP, 'diagnostics_period_s': 0.1}

    def __init__(self) -> None:
        """Render the frames."""
        renderer = Renderer(scene_named('small_mover'), (320, 240), 30.0)
        self.frames = [renderer.frame(i) for i in range(FRAMES)]
        self.truth = Truth.of_scene(renderer.scene, renderer.camera, self.frames)

    def moment(self, types: Any, index: int, start: int = 10**9) -> Moment:
        """Return frame ``index`` of the stream, if it began at ``start``."""
        return Moment(types, self.frames[index].image, start + index * PERIOD, PERIOD, FRAME_ID,
                      np.random.default_rng(index))

    def share_right(self, rows: Any, index: int) -> float:
        """Return the share of right labels among the labelled keypoints of frame ``index``."""
        older, newer = (self.frames[i].stamp for i in (index - GAP, index))
        true = self.truth.point_labels(older, newer, np.stack([rows['u'], rows['v']], axis=1))
        known = (true != UNSCORED) & (rows['label'] >= 0)
        # The static world has the most keypoints.
        world = np.bincount(rows['label'][known & (true == 0)]).argmax()
        return float(np.mean((rows['label'] == world)[known] == (true == 0)[known]))


@pytest.fixture(scope='session')
def scene() -> SceneStream:
    """Return a rendered stream of frames."""
    return SceneStream()


@pytest.fixture(scope='module')
def session(compiled: None) -> 'Iterator[Session]':
    """Return a node of this process in a domain of its own."""
    pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
    from gdm_motion_seg_tools.ros.session import Session
    with Session() as this:
        yield this
