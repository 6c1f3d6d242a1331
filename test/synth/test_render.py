# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The renderer: images agree with their ground truth."""

import cv2
import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.synth import render_scene, Renderer, scene_named, SCENE_NAMES, Truth
from gdm_motion_seg_tools.synth.bodies import Body, box, cylinder, Orbit, plane, Still
from gdm_motion_seg_tools.synth.scenes import Scene

SIZE = (320, 240)


def far_wall():
    return Body('wall', plane(20, 20), Still((0, 0, 6)), 'plaster', 30)


def sampson(f, x1, x2):
    a = np.column_stack((x1, np.ones(len(x1)))) @ f.T
    b = np.column_stack((x2, np.ones(len(x2)))) @ f
    top = np.sum(a * np.column_stack((x2, np.ones(len(x2)))), axis=1)
    return np.abs(top) / np.sqrt(a[:, 0]**2 + a[:, 1]**2 + b[:, 0]**2 + b[:, 1]**2)


def tracked(older, newer):
    grey = [cv2.cvtColor(f.image, cv2.COLOR_BGR2GRAY) for f in (older, newer)]
    x1 = cv2.goodFeaturesToTrack(grey[0], 400, 0.01, 5)
    x2, good, _ = cv2.calcOpticalFlowPyrLK(*grey, x1, None)
    back, good_back, _ = cv2.calcOpticalFlowPyrLK(*grey[::-1], x2, None)
    good = (good & good_back).ravel().astype(bool) & (np.abs(back - x1).max(axis=(1, 2)) < 0.3)
    return x1[good, 0].astype(float), x2[good, 0].astype(float)


@pytest.mark.parametrize('name', SCENE_NAMES)
def test_every_named_scene_shows_its_movers_and_a_filled_background(name):
    frame = Renderer(scene_named(name), SIZE).frame(30)
    assert frame.image.shape == (240, 320, 3) and frame.image.dtype == np.uint8
    assert set(np.unique(frame.labels)) == set(range(frame.n_movers + 1))
    assert np.mean(frame.image.max(axis=2) < 8) < 0.02  # No pixel is left black.
    assert frame.image.std() > 25


def test_the_same_seed_gives_the_same_frames_in_any_order():
    first = Renderer(scene_named('two_movers'), SIZE, seed=3)
    second = Renderer(scene_named('two_movers'), SIZE, seed=3)
    expected = [first.frame(i).image for i in (0, 1)]
    np.testing.assert_array_equal(second.frame(1).image, expected[1])
    np.testing.assert_array_equal(second.frame(0).image, expected[0])
    other = Renderer(scene_named('two_movers'), SIZE, seed=4).frame(0).image
    assert np.abs(other.astype(int) - expected[0]).mean() > 5


@pytest.mark.parametrize('name', ['two_movers', 'three_movers', 'planar_motion', 'small_mover'])
def test_tracked_corners_obey_the_true_fundamental_matrix_of_their_body_and_no_other(name):
    scene = scene_named(name)
    renderer = Renderer(scene, SIZE)
    older, newer = renderer.frame(20), renderer.frame(24)
    truth = Truth.of_scene(scene, renderer.camera, (older, newer))
    x1, x2 = tracked(older, newer)
    labels = truth.point_labels(older.stamp, newer.stamp, x2)
    for label in range(len(truth.names)):
        mine = labels == label
        assert mine.sum() >= 8
        motion = truth.motion(older.stamp, newer.stamp, label)
        own = sampson(motion.fundamental, x1[mine], x2[mine])
        assert np.median(own) < 0.25
        assert np.percentile(own, 80) < 0.6
        if label:
            world = truth.motion(older.stamp, newer.stamp, 0).fundamental
            assert np.median(sampson(world, x1[mine], x2[mine])) > 4 * np.median(own)


def test_label_images_show_the_nearer_body_where_two_overlap():
    scene = Scene('overlap', '', Still(), (far_wall(),),
                  (Body('far', box(1, 1, 0.1), Still((0, 0, 4)), 'brick'),
                   Body('near', box(0.4, 0.4, 0.1), Still((0, 0, 2)), 'denim')))
    labels = Renderer(scene, SIZE).frame(0).labels
    assert labels[120, 160] == 2 and labels[86, 160] == 1 and labels[5, 5] == 0
    # The near box is 0.4 m at 1.95 m: 0.4 / 1.95 * 288 pixels wide.
    assert np.sum(labels[120] == 2) == pytest.approx(0.4 / 1.95 * 288, abs=1.5)


def test_a_cylinder_seen_from_above_is_a_disc():
    scene = Scene('disc', '', Still(), (far_wall(),),
                  (Body('can', cylinder(0.5, 0.4), Still((0, 0, 3), (np.pi / 2, 0, 0)), 'brick'),))
    labels = Renderer(scene, SIZE).frame(0).labels
    radius = 0.5 / 2.8 * 288
    assert np.sum(labels == 1) == pytest.approx(np.pi * radius**2, rel=0.03)


def test_motion_blur_grows_with_the_exposure():
    wall = (Body('wall', plane(20, 20), Still((0, 0, 4)), 'plaster'),)
    fast = Orbit((0, 0, 0), cosine=(0.5, 0, 0), sine=(0, 0.5, 0), period=1.0)
    sharpness = []
    for exposure in (0.0, 1.0):
        scene = Scene('blur', '', fast, wall, (), noise=0.0, exposure=exposure)
        sharpness.append(cv2.Laplacian(Renderer(scene, SIZE).frame(0).image, cv2.CV_64F).var())
    assert sharpness[1] < 0.5 * sharpness[0]


def test_light_changes_slowly_and_noise_has_the_declared_strength():
    wall = (Body('wall', plane(20, 20), Still((0, 0, 4)), 'plaster'),)
    steady = Renderer(Scene('light', '', Still(), wall, (), noise=3.0, flicker=0.0), SIZE)
    difference = steady.frame(0).image.astype(float) - steady.frame(1).image
    assert difference.std() == pytest.approx(3.0 * np.sqrt(2), rel=0.1)
    changing = Renderer(Scene('light', '', Still(), wall, (), flicker=0.1), SIZE, fps=30)
    brightness = [changing.frame(i).image.mean() for i in (0, 1, 32)]
    assert abs(brightness[1] / brightness[0] - 1) < 0.01
    assert brightness[2] / brightness[0] == pytest.approx(1.1, abs=0.01)


def test_a_body_behind_the_camera_is_not_seen():
    scene = Scene('behind', '', Still(), (far_wall(),),
                  (Body('back', box(1, 1, 1), Still((0, 0, -3)), 'brick'),))
    assert not Renderer(scene, SIZE).frame(0).labels.any()


@pytest.mark.parametrize('arguments, complaint', [
    (('no_such_scene', 1), 'no_such_scene'), (('demo', 0), 'n_frames'),
    (('demo', 1, (8, 8)), 'size'), (('demo', 1, SIZE, 0.0), 'fps')])
def test_bad_arguments_are_named(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        next(render_scene(*arguments))
