# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

from dataclasses import replace
from itertools import combinations

import cv2
import numpy as np
import pytest

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import Motion, MotionKind, MotionSegmentation
from gdm_motion_seg.viz.colors import motion_bgr, motion_rgb, OUTLIER_BGR, PALETTE
from gdm_motion_seg.viz.overlay import draw_overlay, legend_lines

NONE = np.full((3, 3), np.nan)


def result_for(size, reason=''):
    """Make a result with two motions of one track each, below the legend, and an outlier."""
    width, height = size
    x1 = np.array([[0.2, 0.8], [0.5, 0.8], [0.8, 0.8]]) * (width, height)
    points = Correspondences.from_arrays(x1, x1 + (0.1 * width, 0.0), size)
    motions = tuple(Motion(i, np.array([k]), kind, '', NONE, NONE, 8.0, 0.1, 1.0) for k, (i, kind)
                    in enumerate([(0, MotionKind.GENERAL), (4, MotionKind.PLANAR)]))
    answer = MotionSegmentation(np.array([0, 1, -1]), motions, np.zeros(3), np.ones(3))
    return FrameResult(1_200_000_000, 1_000_000_000, 6, points, answer, reason,
                       seconds={'track': 0.007, 'segment': 0.005})


def middle_of(result, k):
    x, y = np.rint((result.correspondences.x1[k] + result.correspondences.x2[k]) / 2).astype(int)
    return y, x


@pytest.mark.parametrize('size', [(640, 480), (1920, 1080), (1242, 375), (160, 120), (16, 16)])
def test_vectors_have_the_colour_of_their_motion_at_every_size(size):
    result = result_for(size)
    image = np.zeros((size[1], size[0], 3), np.uint8)
    drawn = draw_overlay(image, result)
    assert drawn.shape == image.shape and not image.any()
    if min(size) < 100:
        return
    for k, motion_id in enumerate((0, 4)):
        np.testing.assert_allclose(drawn[middle_of(result, k)], motion_bgr(motion_id), atol=40)


def test_outliers_are_thin_and_grey():
    result = result_for((640, 480))
    drawn = draw_overlay(np.zeros((480, 640, 3), np.uint8), result)
    y, x = middle_of(result, 2)
    column = drawn[y - 5:y + 6, x].max(axis=1)
    assert 100 < column.max() <= max(OUTLIER_BGR) and np.count_nonzero(column) <= 3


@pytest.mark.parametrize('image', [
    np.zeros((120, 160), np.uint8), np.zeros((120, 160, 1), np.uint8),
    np.zeros((120, 160, 4), np.uint8), np.zeros((120, 160), np.uint16)],
    ids=['grey', 'one channel', 'BGRA', '16 bit'])
def test_every_kind_of_image_can_be_drawn_on(image):
    drawn = draw_overlay(image, result_for((160, 120)))
    assert drawn.shape == (120, 160, 3) and drawn.dtype == np.uint8


def test_the_legend_tells_id_points_kind_gap_and_time():
    lines = [line.text for line in legend_lines(result_for((640, 480)))]
    assert lines == ['0  1 points, general', '4  1 points, planar', '-  1 outliers',
                     'gap 6 frames, 0.20 s; took 12 ms']


def test_the_legend_of_a_frame_without_a_pair_is_its_reason():
    nothing = Correspondences.from_arrays([], [], (640, 480))
    result = FrameResult(1, 1, 0, nothing, MotionSegmentation.empty(0, 'waiting'), 'waiting')
    assert [line.text for line in legend_lines(result)] == ['waiting']


def test_a_long_reason_stays_within_a_small_image():
    result = result_for((160, 120), reason='started afresh: ' + 30 * 'a long sentence ')
    drawn = draw_overlay(np.full((120, 160, 3), 255, np.uint8), result)
    assert drawn.shape == (120, 160, 3)


def test_coordinates_far_outside_of_the_image_are_drawn_without_harm():
    far = replace(result_for((640, 480)), correspondences=Correspondences.from_arrays(
        [[1e6, -1e6]] * 3, [[-1e6, 1e6]] * 3, (640, 480)))
    assert draw_overlay(np.zeros((480, 640, 3), np.uint8), far).any()


# Machado, Oliveira and Fernandes (2009), full severity, on linear red, green and blue.
SIGHT = {
    'normal sight': [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    'protanopia': [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    'deuteranopia': [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    'tritanopia': [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]}


def seen(colours, matrix):
    """Return colours in CIELAB as somebody with that sight sees them."""
    linear = np.clip((np.array(colours) / 255.0) ** 2.2 @ np.array(matrix).T, 0, 1)
    return cv2.cvtColor((linear ** (1 / 2.2)).astype(np.float32)[None], cv2.COLOR_RGB2Lab)[0]


def smallest_difference(colours, sight):
    return min(np.linalg.norm(a - b) for a, b in combinations(seen(colours, SIGHT[sight]), 2))


@pytest.mark.parametrize('sight', SIGHT)
def test_everybody_can_tell_twelve_motions_and_the_outliers_apart(sight):
    assert len(set(PALETTE)) == 12
    # About 2 can just be noticed side by side; 15 is no mistake.
    assert smallest_difference([*PALETTE, motion_rgb(-1)], sight) > 15


def test_a_colour_that_comes_again_has_another_mark():
    result = result_for((640, 480))
    first, second = (replace(result, segmentation=replace(
        result.segmentation, motions=tuple(replace(m, id=m.id + shift)
                                           for m in result.segmentation.motions)))
                     for shift in (0, len(PALETTE)))
    black = np.zeros((480, 640, 3), np.uint8)
    assert [line.hollow for line in legend_lines(first)] == [False] * 4
    assert [line.hollow for line in legend_lines(second)] == [True, True, False, False]
    x, y = np.rint(result.correspondences.x2[0]).astype(int)
    assert draw_overlay(black, first)[y, x].any() and not draw_overlay(black, second)[y, x].any()


def test_a_motion_has_the_same_colour_wherever_it_is_asked_for():
    assert motion_rgb(2)[::-1] == motion_bgr(2)
    assert motion_rgb(len(PALETTE) + 1) == motion_rgb(1)
    assert motion_bgr(-1) == OUTLIER_BGR
