# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages from results: documented fields, equal with and without ROS, never NaN."""

import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.geometry.kind import MotionKind
from gdm_motion_seg.masks import motion_mask
from gdm_motion_seg.msgs.clouds import cloud_from_rows, header_of, stamp_of
from gdm_motion_seg.msgs.images import (
    check_fits, decode_camera_info, encode_compressed, encode_image)
from gdm_motion_seg.msgs.markers import markers_array
from gdm_motion_seg.msgs.reading import rows_from_cloud
from gdm_motion_seg.msgs.results import (
    detections_array, keypoints_cloud, motion_rows, motions_cloud)
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg.msgs.types import ros_types
from gdm_motion_seg.pipeline import FrameResult
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation
from gdm_motion_seg.viz.colors import motion_rgb

SIZE = (640, 480)
INSTANCES = np.array([[0, 0, 5], [0, 1_000_000, 5]], np.int32)
STAMP, PREVIOUS = 5_100_000_000, 5_000_000_000
POINTS = np.array([[10.0, 20.0], [100.0, 50.0], [300.0, 400.0], [600.0, 30.0]])


def a_result():
    """Return the world, a body without F, and an outlier far from both."""
    nothing = np.full((3, 3), np.nan)
    motions = (
        Motion(0, np.array([0, 1]), MotionKind.GENERAL, '', np.arange(9.0).reshape(3, 3), nothing,
               dimension=5.5, residual=0.3, threshold=1.0, box=(10.0, 20.0, 100.0, 50.0)),
        Motion(7, np.array([2]), MotionKind.TOO_FEW, 'one point', nothing, nothing,
               dimension=float('nan'), residual=float('nan'), threshold=float('nan'),
               box=(300.0, 400.0, 300.0, 400.0), moving=0.75))
    segmentation = MotionSegmentation(
        np.array([0, 0, 7, -1]), motions, np.array([0.1, 0.2, np.inf, np.nan]),
        moving=np.array([0.0, 0.0, 0.75, 0.5]))
    pair = Correspondences.from_arrays(POINTS - 2, POINTS, SIZE, [11, 12, 2**40 + 13, 14])
    return FrameResult(STAMP, PREVIOUS, 3, pair, segmentation)


def an_empty_result():
    """Return the result of a first frame."""
    pair = Correspondences.from_arrays([], [], SIZE)
    return FrameResult(STAMP, STAMP, 0, pair, MotionSegmentation.empty(0, 'waiting'), 'waiting')


def messages(types, result):
    """Build every output of a result."""
    header = header_of(types, result.stamp, 'camera')
    camera, pair = Camera.guess(SIZE), result.correspondences
    rays, previous_rays = camera.rays(pair.x2), camera.rays(pair.x1)
    picture = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    return {
        'sensor_msgs/msg/PointCloud2 keypoints': keypoints_cloud(types, header, result, rays),
        'sensor_msgs/msg/PointCloud2 motions': motions_cloud(types, header, result),
        'visualization_msgs/msg/MarkerArray': markers_array(types, header, result, rays,
                                                            previous_rays),
        'sensor_msgs/msg/Image': encode_image(types, header, picture),
        'sensor_msgs/msg/Image mask': encode_image(types, header, motion_mask(INSTANCES)),
        'sensor_msgs/msg/Image instances': encode_image(types, header, INSTANCES),
        'sensor_msgs/msg/CompressedImage': encode_compressed(types, header, picture),
    }


def test_keypoints_can_be_read_field_by_field():
    types, result = rosbags_types(), a_result()
    rows = rows_from_cloud(messages(types, result)['sensor_msgs/msg/PointCloud2 keypoints'])
    assert rows.dtype.names == ('x', 'y', 'z', 'u', 'v', 'u_prev', 'v_prev', 'label', 'track_id',
                                'residual', 'moving', 'rgb')
    np.testing.assert_array_equal(np.stack([rows['u'], rows['v']], axis=1), POINTS)
    np.testing.assert_array_equal(np.stack([rows['u_prev'], rows['v_prev']], axis=1), POINTS - 2)
    np.testing.assert_array_equal(rows['label'], [0, 0, 7, -1])
    np.testing.assert_allclose(rows['moving'], [0.0, 0.0, 0.75, 0.5])
    np.testing.assert_array_equal(rows['track_id'], [11, 12, 13, 14])
    np.testing.assert_array_equal(rows['residual'], np.array([0.1, 0.2, -1, -1], np.float32))
    np.testing.assert_allclose(rows['x'], (POINTS[:, 0] - 320) / 768, rtol=1e-6)
    np.testing.assert_array_equal(rows['z'], 1)
    np.testing.assert_array_equal(rows['moving'], [0, 0, 0.75, 0.5])
    for row, motion_id in ((0, 0), (2, 7), (3, -1)):
        red, green, blue = motion_rgb(motion_id)
        assert rows['rgb'].view(np.uint32)[row] == red << 16 | green << 8 | blue


def test_motions_can_be_read_field_by_field():
    rows = rows_from_cloud(messages(rosbags_types(), a_result())
                           ['sensor_msgs/msg/PointCloud2 motions'])
    assert rows.dtype.names == ('id', 'count', 'dimension', 'kind', 'residual', 'world', 'moving',
                                'box', 'dt', *(f'f{i}{j}' for i in range(3) for j in range(3)),
                                'has_pose', 'rotation', 'translation', 'rotation_error_deg',
                                'direction_error_deg', 'has_contact', 'contact_s',
                                'contact_error_s')
    np.testing.assert_array_equal(rows['id'], [0, 7])
    np.testing.assert_array_equal(rows['world'], [1, 0])
    np.testing.assert_array_equal(rows['moving'], [0, 0.75])
    np.testing.assert_array_equal(rows['has_pose'], [0, 0])
    np.testing.assert_array_equal(rows['count'], [2, 1])
    np.testing.assert_array_equal(rows['kind'], [0, 3])
    np.testing.assert_array_equal(rows['dimension'], [5.5, 0])
    np.testing.assert_allclose(rows['residual'], [0.3, -1])
    np.testing.assert_array_equal(rows['box'], [[10, 20, 100, 50], [300, 400, 300, 400]])
    np.testing.assert_allclose(rows['dt'], 0.1)
    assert rows['f12'].tolist() == [5.0, 0.0]
    assert rows.dtype['f00'] == np.float64


def body_of(n_points, **changes):
    """Return a result in which a body holds every point, spread over the image."""
    x2 = np.random.default_rng(0).uniform((0, 0), SIZE, (n_points, 2))
    nothing = np.full((3, 3), np.nan)
    body = Motion(5, np.arange(n_points), MotionKind.GENERAL, '', nothing, nothing, 5.0, 0.1, 1.0,
                  moving=0.9, **changes)
    segmentation = MotionSegmentation(np.full(n_points, 5), (body,), np.zeros(n_points),
                                      moving=np.full(n_points, 0.9))
    pair = Correspondences.from_arrays(x2 - 2, x2, SIZE)
    return FrameResult(STAMP, PREVIOUS, 3, pair, segmentation)


def rigid_result(shift=(0.0, 0.0, -0.4)):
    """Return a body that comes nearer without turning, seen by a camera with K below."""
    rng = np.random.default_rng(0)
    points = rng.uniform((-1, -1, 4), (1, 1, 6), (60, 3))
    x1, x2 = ((p @ CALIBRATED.matrix.T)[:, :2] / p[:, 2:] for p in (points, points + shift))
    nothing = np.full((3, 3), np.nan)
    motion = Motion(4, np.arange(60), MotionKind.GENERAL, '', nothing, nothing, 3.0, 0.1, 1.0,
                    rotation=np.eye(3), translation=np.array(shift))
    answer = MotionSegmentation(np.full(60, 4), (motion,), np.zeros(60), moving=np.ones(60))
    return FrameResult(STAMP, PREVIOUS, 3, Correspondences.from_arrays(x1, x2, SIZE), answer)


CALIBRATED = Camera(np.array([[500.0, 0, 320], [0, 500, 240], [0, 0, 1]]), np.zeros(0), '', SIZE)


def test_a_calibrated_motion_has_a_pose_with_its_error_and_a_time_to_contact():
    row, = motion_rows(rigid_result(), CALIBRATED)
    assert row['has_pose'] == 2
    np.testing.assert_allclose(row['rotation'], [0, 0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(row['translation'], [0, 0, -1], atol=1e-9)
    assert 0 < row['rotation_error_deg'] < 1 and 0 < row['direction_error_deg'] < 10
    assert row['has_contact'] == 1
    # At a distance of 4.6 m and 4 m/s; the body has an extent in depth.
    assert row['contact_s'] == pytest.approx(1.15, abs=0.15)


def test_without_calibration_there_is_no_pose_and_the_flag_says_so():
    for camera in (None, Camera.guess(SIZE)):
        row, = motion_rows(rigid_result(), camera)
        assert row['has_pose'] == 0 and not row['rotation'].any()


def test_a_receding_body_has_no_contact():
    row, = motion_rows(rigid_result((0.0, 0.0, 0.4)), CALIBRATED)
    assert row['has_contact'] == 0 and row['contact_s'] == 0


def test_instances_are_32_bit_ids_and_the_mask_says_where_they_are():
    built = messages(rosbags_types(), a_result())
    image = built['sensor_msgs/msg/Image instances']
    assert image.encoding == '32SC1' and image.step == 12
    np.testing.assert_array_equal(np.asarray(image.data).view(np.int32).reshape(2, 3), INSTANCES)
    mask = built['sensor_msgs/msg/Image mask']
    assert mask.encoding == 'mono8'
    np.testing.assert_array_equal(np.asarray(mask.data).reshape(2, 3), 255 * (INSTANCES > 0))


class Anything:
    """Replaces a message class: every field exists."""

    def __getattr__(self, name):
        value = Anything()
        setattr(self, name, value)
        return value


def test_detections_are_the_boxes_of_bodies_and_not_of_the_world():
    from types import SimpleNamespace
    vision = SimpleNamespace(Detection2DArray=Anything, Detection2D=Anything,
                             ObjectHypothesisWithPose=Anything)
    detection, = detections_array(vision, 'header', a_result()).detections
    assert detection.id == '7' and detection.header == 'header'
    assert (detection.bbox.center.position.x, detection.bbox.center.position.y) == (300.0, 400.0)
    assert (detection.bbox.size_x, detection.bbox.size_y) == (0.0, 0.0)
    hypothesis = detection.results[0].hypothesis
    assert hypothesis.class_id == 'moving' and hypothesis.score == 0.75


def test_pixels_without_a_ray_have_no_position():
    types, result = rosbags_types(), body_of(4)
    rays = np.ones((4, 3))
    rays[2] = np.nan
    header = header_of(types, STAMP, 'camera')
    rows = rows_from_cloud(keypoints_cloud(types, header, result, rays))
    assert [rows[name][2] for name in 'xyz'] == [0, 0, 0]
    markers = markers_array(types, header, result, rays, np.ones((4, 3))).markers
    flow = next(marker for marker in markers if marker.ns == 'flow')
    assert len(flow.points) == 2 * 3
    rays[:] = np.nan
    assert len(markers_array(types, header, result, rays, rays).markers) == 1


@pytest.mark.parametrize('result', [a_result(), an_empty_result()], ids=['motions', 'empty'])
def test_no_message_contains_nan(result):
    built = messages(rosbags_types(), result)
    for name in ('keypoints', 'motions'):
        rows = rows_from_cloud(built[f'sensor_msgs/msg/PointCloud2 {name}'])
        for field in rows.dtype.names:
            assert np.isfinite(rows[field]).all(), field
    for marker in built['visualization_msgs/msg/MarkerArray'].markers:
        assert np.isfinite([[p.x, p.y, p.z] for p in marker.points]).all()


@pytest.mark.parametrize('result', [a_result(), an_empty_result()], ids=['motions', 'empty'])
def test_ros_and_rosbags_give_the_same_bytes(result):
    rclpy_serialization = pytest.importorskip('rclpy.serialization', reason='needs ROS 2 (rclpy)')
    from rosbags.typesys import get_typestore, Stores
    store = get_typestore(Stores.ROS2_JAZZY)
    with_ros, without = messages(ros_types(), result), messages(rosbags_types(), result)
    for name in with_ros:
        kind = name.split()[0]
        # Fast CDR does not clear the padding between fields; rosbags does.
        raw = rclpy_serialization.serialize_message(with_ros[name])
        same = store.serialize_cdr(store.deserialize_cdr(raw, kind), kind)
        assert bytes(same) == bytes(store.serialize_cdr(without[name], kind)), name


def test_markers_begin_by_removing_everything_that_was_drawn_before():
    types = rosbags_types()
    markers = messages(types, a_result())['visualization_msgs/msg/MarkerArray'].markers
    # RViz limits DELETEALL to the marker's namespace unless that is empty.
    assert (markers[0].action, markers[0].ns, markers[0].id) == (types.Marker.DELETEALL, '', 0)
    assert all(marker.action == types.Marker.ADD for marker in markers[1:])


@pytest.mark.parametrize('result', [a_result(), an_empty_result(), body_of(50)])
def test_no_two_markers_have_the_same_namespace_and_id(result):
    markers = messages(rosbags_types(), result)['visualization_msgs/msg/MarkerArray'].markers
    assert len({(m.ns, m.id) for m in markers}) == len(markers)


def test_bodies_have_outline_flow_and_name_and_the_world_has_no_marker():
    markers = messages(rosbags_types(), body_of(50))['visualization_msgs/msg/MarkerArray'].markers
    assert {(m.ns, m.id) for m in markers} == {('', 0), ('outline', 5), ('flow', 5), ('names', 5)}
    markers = messages(rosbags_types(), a_result())['visualization_msgs/msg/MarkerArray'].markers
    assert {m.id for m in markers[1:]} == {7}
    assert [m.text for m in markers if m.text] == ['7: 75 %']


def test_the_width_of_a_space_is_set_so_that_rviz_draws_names_correctly():
    markers = messages(rosbags_types(), a_result())['visualization_msgs/msg/MarkerArray'].markers
    name = next(marker for marker in markers if marker.text)
    assert 0 < name.scale.x < name.scale.z


def test_names_are_in_front_of_the_tracks_and_lighter_than_their_outlines():
    markers = messages(rosbags_types(), body_of(50))['visualization_msgs/msg/MarkerArray'].markers
    name, outline = ([m for m in markers if m.ns == ns][0] for ns in ('names', 'outline'))
    assert name.pose.position.z < min(point.z for point in outline.points)
    for colour in 'rgb':
        assert getattr(name.color, colour) >= max(0.5, getattr(outline.color, colour))


def test_the_markers_of_many_tracks_have_few_points():
    built = messages(rosbags_types(), body_of(1500))
    markers = built['visualization_msgs/msg/MarkerArray'].markers
    assert sum(len(marker.points) for marker in markers) < 100


def test_an_outline_is_closed_and_surrounds_the_body():
    result = body_of(50)
    markers = messages(rosbags_types(), result)['visualization_msgs/msg/MarkerArray'].markers
    outline = next(marker for marker in markers if marker.ns == 'outline').points
    assert (outline[0].x, outline[0].y) == (outline[-1].x, outline[-1].y)
    rays = Camera.guess(SIZE).rays(result.correspondences.x2)
    assert min(p.x for p in outline) == pytest.approx(rays[:, 0].min(), abs=1e-6)
    assert max(p.y for p in outline) == pytest.approx(rays[:, 1].max(), abs=1e-6)


def test_a_stamp_is_equal_after_conversion_to_a_header_and_back():
    types = rosbags_types()
    for stamp in (0, 1, 999_999_999, 1_794_796_855_123_456_789, -1):
        assert stamp_of(header_of(types, stamp, '')) == stamp
    assert header_of(types, 1_500_000_000, '').stamp.nanosec == 500_000_000


def test_a_cloud_that_contradicts_itself_is_refused():
    types = rosbags_types()
    cloud = cloud_from_rows(types, header_of(types, 1, ''), np.zeros(3, [('x', np.float32)]))
    cloud.width = 100
    with pytest.raises(InputError, match='12 bytes instead of 100 points x 4'):
        rows_from_cloud(cloud)
    cloud.width, cloud.fields[0].datatype = 3, 99
    with pytest.raises(InputError, match='unknown datatype 99'):
        rows_from_cloud(cloud)
    cloud.fields[0].datatype, cloud.fields[0].offset = 8, 2
    with pytest.raises(InputError, match='contradict'):
        rows_from_cloud(cloud)


def info(**changes):
    """Build a calibration, with changes."""
    from types import SimpleNamespace
    matrix = [500.0, 0, 320, 0, 500, 240, 0, 0, 1]
    fields = {'width': 640, 'height': 480, 'distortion_model': 'plumb_bob', 'k': matrix,
              'd': [0.1, 0, 0, 0, 0]}
    return SimpleNamespace(**{**fields, **changes})


def test_a_calibration_is_read():
    camera = decode_camera_info(info())
    assert camera.image_size == SIZE
    assert camera.matrix[0, 0] == 500
    assert camera.is_distorted


@pytest.mark.parametrize('changes, reason', [
    ({'k': [0.0] * 9}, 'not calibrated'),
    ({'k': [np.nan] * 9}, 'finite'),
    ({'d': [np.nan] * 5}, 'finite'),
    ({'d': [0.1, 0.2]}, 'must have 4 or 5 coefficients, got 2'),
    ({'width': 0, 'height': 0}, 'positive'),
    ({'distortion_model': 'wormhole'}, 'wormhole'),
    ({'k': [-1.0, 0, 1, 0, 1, 1, 0, 0, 1]}, 'positive'),
])
def test_an_invalid_calibration_is_refused_with_the_reason(changes, reason):
    with pytest.raises(InputError, match='camera_info is not used: .') as caught:
        decode_camera_info(info(**changes))
    assert reason in str(caught.value)


def test_an_empty_d_means_no_distortion():
    assert not decode_camera_info(info(d=[], distortion_model='')).is_distorted


def test_a_calibration_of_other_images_does_not_fit():
    camera = decode_camera_info(info())
    check_fits(camera, 'left', SIZE, 'left')
    with pytest.raises(InputError, match='320 x 240'):
        check_fits(camera, 'left', (320, 240), 'left')
    with pytest.raises(InputError, match="frame_id is 'left', but that of the images is 'right'"):
        check_fits(camera, 'left', SIZE, 'right')
