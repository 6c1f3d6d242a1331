# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Dense masks from tracks and flow."""

import cv2
import numpy as np
import pytest

from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.masks import motion_mask, MotionMasks
from gdm_motion_seg.masks.bodies import FLOW_BODY, Names
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation

SIZE = 320, 240
SIDE = 64
STEP = 33_000_000


def texture(seed, size):
    rng = np.random.default_rng(seed)
    small = rng.integers(40, 216, (size[1] // 4, size[0] // 4, 3), np.uint8)
    return cv2.resize(small, size, interpolation=cv2.INTER_CUBIC)


BACKGROUND = texture(0, (480, 320))
SQUARE = cv2.subtract(texture(1, (SIDE, SIDE)), np.array([60, 0, 60, 0], np.float64))


def frame(index, moves=True):
    """Return an image and its true mask: a pan of 1 px, and a square that moves differently."""
    image = BACKGROUND[20:20 + SIZE[1], 20 + index:20 + index + SIZE[0]].copy()
    truth = np.zeros(image.shape[:2], bool)
    if moves:
        x, y = 60 + 2 * index, 70 + index
        image[y:y + SIDE, x:x + SIDE] = SQUARE
        truth[y:y + SIDE, x:x + SIDE] = True
    return image, truth


def motion(name, members):
    nan = np.full((3, 3), np.nan)
    return Motion(name, members, MotionKind.GENERAL, '', nan, nan, 3.0, 0.1, 1.0)


def answer(index, truth, on_body='moving', world=True):
    """Return the result of a perfect tracker: a grid of tracks every 12 px."""
    y, x = np.mgrid[6:SIZE[1]:12, 6:SIZE[0]:12]
    points = np.column_stack((x.ravel(), y.ravel())).astype(np.float64)
    on = truth[y.ravel(), x.ravel()]
    if on_body == 'none':
        points, on = points[~on], on[~on]
    labels = np.where(on & (on_body == 'moving'), 7, 0)
    motions = [motion(0, np.flatnonzero(labels == 0))] if world else []
    motions += [motion(7, np.flatnonzero(labels == 7))] if (labels == 7).any() else []
    n = len(points)
    segmentation = MotionSegmentation(labels, tuple(motions), np.zeros(n),
                                      moving=(labels > 0).astype(np.float64))
    pair = Correspondences.from_arrays(points - 1, points, SIZE, np.arange(n))
    stamp = (index + 1) * STEP
    return FrameResult(stamp, stamp - 5 * STEP, 5, pair, segmentation)


def run(frames=14, moves=True, masks=None, first=0, **how):
    masks = masks or MotionMasks()
    for i in range(first, first + frames):
        image, truth = frame(i, moves)
        found = masks.process(image, answer(i, truth, **how))
    return found, truth


def overlap(found, truth):
    return np.sum((found > 0) & truth) / np.sum((found > 0) | truth)


def test_pixels_of_a_body_with_moving_tracks_get_its_id():
    found, truth = run()
    assert found.dtype == np.int32 and found.shape == truth.shape
    assert set(np.unique(found)) == {0, 7}
    assert overlap(found, truth) > 0.85


def test_nothing_moves_in_a_static_scene_with_a_moving_camera():
    found, _ = run(moves=False)
    assert not found.any()


def test_flow_that_contradicts_the_world_proposes_a_body_where_there_are_no_tracks():
    masks = MotionMasks()
    early, _ = run(3, on_body='none', masks=masks)
    found, truth = run(11, on_body='none', masks=masks, first=3)
    assert not early.any()
    assert overlap(found, truth) > 0.7
    assert np.unique(found)[1] >= FLOW_BODY


def test_a_body_that_flow_found_gets_the_id_of_the_motion_when_it_gets_tracks():
    masks = MotionMasks()
    early, _ = run(14, on_body='none', masks=masks)
    found, truth = run(4, masks=masks, first=14)
    assert np.unique(early)[1] >= FLOW_BODY
    assert set(np.unique(found)) == {0, 7}
    assert overlap(found, truth) > 0.7


def test_two_motions_with_tracks_never_share_a_name():
    names, under = Names(), np.array([4, 4, 4, 0, 0, 0])
    assert names.of_tracks(np.array([4, 4, 4, 0, 0, 0]), under).tolist() == [4, 4, 4, 0, 0, 0]
    # The tracks of 4 are lost, and 9 is found on its pixels: it is the same body.
    assert names.of_tracks(np.array([9, 9, 9, 0, 0, 0]), under).tolist() == [4, 4, 4, 0, 0, 0]
    assert names.published(under).tolist() == [9, 9, 9, 0, 0, 0]
    # Both have tracks: they are two.
    assert names.of_tracks(np.array([4, 4, 4, 9, 9, 9]), under).tolist() == [4, 4, 4, 9, 9, 9]
    assert names.published(under).tolist() == [4, 4, 4, 0, 0, 0]


def test_static_tracks_reject_a_body_that_flow_proposes():
    found, _ = run(on_body='static')
    assert not found.any()


def test_without_a_world_nothing_is_marked_as_moving():
    found, _ = run(world=False)
    assert not found.any()


def test_a_refused_image_gets_an_empty_mask_of_its_size():
    masks = MotionMasks()
    run(masks=masks)
    none = Correspondences.from_arrays([], [], SIZE)
    refused = FrameResult(10**10, 10**10, 0, none, MotionSegmentation.empty(0, 'bad'),
                          reason='bad', problem=True)
    assert masks.process(np.zeros((20, 30), np.uint8), refused).shape == (20, 30)


@pytest.mark.parametrize('change', ['pause', 'size', 'back'])
def test_a_break_in_the_stream_is_a_new_beginning(change):
    masks = MotionMasks()
    run(masks=masks)
    image, truth = frame(14)
    result = answer({'pause': 100, 'size': 14, 'back': 2}[change], truth)
    image = image[::2, ::2] if change == 'size' else image
    assert not masks.process(np.ascontiguousarray(image), result).any()


@pytest.mark.parametrize('kind', ['grey', 'grey16', 'bgra'])
def test_every_kind_of_image_gives_a_mask(kind):
    masks = MotionMasks()
    for i in range(10):
        image, truth = frame(i)
        grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        made = {'grey': grey, 'grey16': grey.astype(np.uint16) * 16,
                'bgra': cv2.cvtColor(image, cv2.COLOR_BGR2BGRA)}[kind]
        found = masks.process(made, answer(i, truth))
    assert overlap(found, truth) > 0.75


def test_the_same_frames_give_the_same_masks():
    np.testing.assert_array_equal(run()[0], run()[0])


def test_a_mask_has_the_requested_polarity_and_dilation():
    instances = np.zeros((20, 20), np.int32)
    instances[10, 10] = 3
    assert motion_mask(instances).sum() == 255
    assert (motion_mask(instances, moving_is_white=False) == 0).sum() == 1
    grown = motion_mask(instances, dilation=2) == 255
    assert grown[10, 8:13].all() and not grown[10, 7] and not grown[10, 13]
