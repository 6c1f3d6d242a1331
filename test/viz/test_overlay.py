# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

from dataclasses import replace
from itertools import combinations

import cv2
import numpy as np
import pytest

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation
from gdm_motion_seg.viz.colors import (is_second_round, motion_bgr, motion_rgb, OUTLIER_RGB,
                                       PALETTE, WORLD_RGB)
from gdm_motion_seg.viz.overlay import draw_overlay, legend_lines, tag_text

NONE = np.full((3, 3), np.nan)
BODY = 4


def result_for(size, reason='', body=BODY):
    """Make a result with a world of two tracks, a body of five below the legend, an outlier."""
    width, height = size
    spread = np.array([[0, 0], [-1, -1], [1, -1], [-1, 1], [1, 1]]) * 0.02 * width
    x2 = np.vstack([np.array([[0.2, 0.8], [0.9, 0.8]]) * size,
                    np.array([0.5, 0.8]) * size + spread, np.array([[0.8, 0.6]]) * size])
    points = Correspondences.from_arrays(x2 - (0.03 * width, 0.0), x2, size)
    members = [np.array([0, 1]), np.arange(2, 7)]
    motions = tuple(Motion(i, m, kind, '', NONE, NONE, 8.0, 0.1, 1.0, moving=moving,
                           box=(*x2[m].min(axis=0), *x2[m].max(axis=0)))
                    for i, m, kind, moving in zip((0, body), members, (
                        MotionKind.GENERAL, MotionKind.PLANAR), (0.0, 0.87)))
    labels = np.array([0, 0, *[body] * 5, -1])
    answer = MotionSegmentation(labels, motions, np.zeros(8), moving=labels > 0)
    return FrameResult(1_200_000_000, 1_000_000_000, 6, points, answer, reason,
                       seconds={'track': 0.007, 'segment': 0.005})


def pixel_of(result, k):
    x, y = np.rint(result.correspondences.x2[k]).astype(int)
    return y, x


@pytest.mark.parametrize('size', [(640, 480), (1920, 1080), (1242, 375), (160, 120), (16, 16)])
def test_tracks_have_the_colour_of_their_motion_at_every_size(size):
    result = result_for(size)
    image = np.zeros((size[1], size[0], 3), np.uint8)
    drawn = draw_overlay(image, result)
    assert drawn.shape == image.shape and not image.any()
    if min(size) < 100:
        return
    assert tuple(drawn[pixel_of(result, 0)]) == motion_bgr(0)
    assert tuple(drawn[pixel_of(result, 2)]) == motion_bgr(BODY)


def drawn_pixels(result, hide):
    """Count the pixels that disappear when tracks are left out of the picture."""
    points = result.correspondences
    away = Correspondences.from_arrays(np.where(hide[:, None], -1e4, points.x1),
                                       np.where(hide[:, None], -1e4, points.x2), (640, 480))
    motions = tuple(m for m in result.motions if not hide[m.members].any())
    without = replace(result, correspondences=away,
                      segmentation=replace(result.segmentation, motions=motions))
    black, below = np.zeros((480, 640, 3), np.uint8), np.s_[150:]
    return int((draw_overlay(black, result)[below] != draw_overlay(black, without)[below])
               .any(axis=2).sum())


def test_a_body_is_prominent_and_the_world_and_outliers_are_few_faint_pixels():
    result = result_for((640, 480))
    labels = result.labels
    assert drawn_pixels(result, labels == -1) <= 1
    assert drawn_pixels(result, labels == 0) <= 2 * 5
    assert drawn_pixels(result, labels == BODY) > 1000


def test_a_body_is_tinted_inside_of_its_outline_and_nowhere_else():
    result = result_for((640, 480))
    grey = np.full((480, 640, 3), 100, np.uint8)
    drawn = draw_overlay(grey, result)
    y, x = pixel_of(result, 2)
    between = drawn[y - 6, x + 1].astype(int)
    expected = 0.7 * 100 + 0.3 * np.array(motion_bgr(BODY))
    np.testing.assert_allclose(between, expected, atol=1)
    assert (drawn[y + 60, x] == 100).all()


def test_a_dense_mask_gives_the_outline_where_there_is_one():
    result = result_for((640, 480))
    instances = np.zeros((480, 640), np.int32)
    instances[250:300, 400:500] = BODY
    grey = np.full((480, 640, 3), 100, np.uint8)
    drawn = draw_overlay(grey, result, instances)
    expected = 0.7 * 100 + 0.3 * np.array(motion_bgr(BODY))
    np.testing.assert_allclose(drawn[270, 420], expected, atol=1)
    assert (drawn[310, 450] == 100).all()
    y, x = pixel_of(result, 2)
    assert (drawn[y - 6, x + 1] == 100).all()
    small = cv2.resize(instances, (320, 240), interpolation=cv2.INTER_NEAREST)
    np.testing.assert_array_equal(draw_overlay(grey, result, small)[270, 420], drawn[270, 420])


def test_a_body_that_only_the_mask_shows_is_drawn_too():
    result = result_for((640, 480))
    instances = np.zeros((480, 640), np.int32)
    instances[250:300, 400:500] = 9
    grey = np.full((480, 640, 3), 100, np.uint8)
    drawn = draw_overlay(grey, result, instances)
    np.testing.assert_allclose(drawn[270, 420], 70 + 0.3 * np.array(motion_bgr(9)), atol=1)


def test_a_mask_without_a_pixel_of_the_body_is_not_an_error():
    result = result_for((640, 480))
    grey = np.full((480, 640, 3), 100, np.uint8)
    assert draw_overlay(grey, result, np.zeros((480, 640), np.int32)).shape == grey.shape


def test_the_processing_time_is_not_in_the_picture():
    fast, grey = result_for((640, 480)), np.full((480, 640, 3), 100, np.uint8)
    slow = replace(fast, seconds={'track': 7.0, 'segment': 5.0})
    np.testing.assert_array_equal(draw_overlay(grey, fast), draw_overlay(grey, slow))


@pytest.mark.parametrize('image', [
    np.zeros((120, 160), np.uint8), np.zeros((120, 160, 1), np.uint8),
    np.zeros((120, 160, 4), np.uint8), np.zeros((120, 160), np.uint16)],
    ids=['grey', 'one channel', 'BGRA', '16 bit'])
def test_every_kind_of_image_can_be_drawn_on(image):
    drawn = draw_overlay(image, result_for((160, 120)))
    assert drawn.shape == (120, 160, 3) and drawn.dtype == np.uint8


def test_the_legend_lists_what_moves_first_and_then_the_other_tracks():
    lines = [line.text for line in legend_lines(result_for((640, 480)))]
    assert lines == ['1 body moves', '4  5 points, planar', 'world 2, outliers 1',
                     'gap 6 frames, 0.20 s']
    assert tag_text(result_for((640, 480)).motions[1]) == '4  87%'


def test_the_legend_says_that_nothing_moves():
    result = result_for((640, 480))
    still = replace(result, segmentation=replace(result.segmentation,
                                                 motions=result.motions[:1]))
    assert legend_lines(still)[0].text == 'nothing moves'


def test_the_legend_of_many_bodies_stays_short():
    result = result_for((640, 480))
    many = replace(result, segmentation=replace(result.segmentation, motions=tuple(
        replace(result.motions[1], id=i) for i in range(1, 21))))
    texts = [line.text for line in legend_lines(many)]
    assert texts[0] == '20 bodies move' and 'and 14 more' in texts and len(texts) < 12


def test_the_legend_of_a_frame_without_a_pair_is_its_reason():
    nothing = Correspondences.from_arrays([], [], (640, 480))
    result = FrameResult(1, 1, 0, nothing, MotionSegmentation.empty(0, 'waiting'), 'waiting')
    assert [line.text for line in legend_lines(result)] == ['waiting']


def test_a_long_reason_stays_within_a_small_image():
    result = result_for((160, 120), reason='restarted: ' + 30 * 'a long sentence ')
    drawn = draw_overlay(np.full((120, 160, 3), 255, np.uint8), result)
    assert drawn.shape == (120, 160, 3)


@pytest.mark.parametrize('x2', [[-1e6, 1e6], [1e6, -1e6], [639.6, 479.6], [-0.4, -0.4]])
def test_coordinates_outside_of_the_image_are_clipped(x2):
    result = result_for((640, 480))
    far = replace(result, correspondences=Correspondences.from_arrays(
        [[1e6, -1e6]] * 8, [x2] * 8, (640, 480)), segmentation=replace(
            result.segmentation, motions=tuple(replace(m, box=(*x2, *x2))
                                               for m in result.motions)))
    assert draw_overlay(np.zeros((480, 640, 3), np.uint8), far).any()


# Machado, Oliveira and Fernandes (2009), full severity, on linear red, green and blue.
SIGHT = {
    'normal sight': [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    'protanopia': [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    'deuteranopia': [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    'tritanopia': [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]}


def seen(colours, matrix):
    """Return colours in CIELAB as seen with that kind of sight."""
    linear = np.clip((np.array(colours) / 255.0) ** 2.2 @ np.array(matrix).T, 0, 1)
    return cv2.cvtColor((linear ** (1 / 2.2)).astype(np.float32)[None], cv2.COLOR_RGB2Lab)[0]


def smallest_difference(colours, sight):
    return min(np.linalg.norm(a - b) for a, b in combinations(seen(colours, SIGHT[sight]), 2))


@pytest.mark.parametrize('sight', SIGHT)
def test_twelve_bodies_the_world_and_outliers_are_distinguishable_with_colour_blindness(sight):
    assert len(set(PALETTE)) == 12
    # A distance of about 2 is just noticeable; 15 is clear.
    assert smallest_difference([*PALETTE, WORLD_RGB, OUTLIER_RGB], sight) > 15


def test_a_colour_that_is_used_twice_has_another_mark():
    first, second = result_for((640, 480), body=1), result_for((640, 480), body=1 + len(PALETTE))
    black = np.zeros((480, 640, 3), np.uint8)
    assert not is_second_round(1) and is_second_round(1 + len(PALETTE))
    assert [line.hollow for line in legend_lines(first)] == [False] * 4
    assert [line.hollow for line in legend_lines(second)] == [False, True, False, False]
    at = pixel_of(first, 2)
    assert tuple(draw_overlay(black, first)[at]) == motion_bgr(1)
    assert tuple(draw_overlay(black, second)[at]) != motion_bgr(1)


def test_a_motion_has_the_same_colour_wherever_it_is_asked_for():
    assert motion_rgb(2)[::-1] == motion_bgr(2)
    assert motion_rgb(len(PALETTE) + 1) == motion_rgb(1)
    assert motion_rgb(0) == WORLD_RGB and motion_rgb(-1) == OUTLIER_RGB
