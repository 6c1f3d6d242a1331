# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sources of frames, and errors of sources that cannot be read."""

import os
import shutil

import cv2
import numpy as np
import pytest
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.typesys import get_typestore, Stores

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.bags import BagReader, BagWriter, is_bag
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.io.videos import VideoWriter
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import encode_compressed, encode_image
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg_tools.synth.scene_bags import SceneOptions, write_scene

PERIOD = 33_333_333


def pictures(n=4, size=(96, 64)):
    rng = np.random.default_rng(0)
    base = cv2.GaussianBlur(rng.integers(0, 255, (size[1], size[0], 3), np.uint8), (0, 0), 2)
    return [np.roll(base, 3 * i, axis=1) for i in range(n)]


def write_bag(folder, images, topics=('/camera/image_raw',), storage='mcap', compressed=False):
    types = rosbags_types()
    encode = encode_compressed if compressed else encode_image
    with BagWriter(folder, storage) as bag:
        for i, image in enumerate(images):
            stamp = 10**9 + i * PERIOD
            for topic in topics:
                bag.write(topic, encode(types, header_of(types, stamp, 'eye'), image), stamp)
    return folder


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@pytest.mark.parametrize('compressed', [False, True])
def test_a_bag_gives_its_images_back_with_their_stamps_and_frame(tmp_path, storage, compressed):
    images = pictures()
    folder = write_bag(tmp_path / 'bag', images, storage=storage, compressed=compressed)
    with open_source(folder) as source:
        frames = list(source)
    assert source.count == len(frames) == 4
    assert [f.stamp for f in frames] == [10**9 + i * PERIOD for i in range(4)]
    assert {f.frame_id for f in frames} == {'eye'}
    worst = max(np.abs(f.image.astype(int) - image).max() for f, image in zip(frames, images))
    assert worst <= (40 if compressed else 0)


def test_a_storage_file_alone_and_a_folder_without_metadata_are_bags_too(tmp_path):
    folder = write_bag(tmp_path / 'bag', pictures())
    assert len(list(open_source(folder / 'bag.mcap'))) == 4
    (folder / 'metadata.yaml').unlink()
    assert is_bag(folder) and len(list(open_source(folder))) == 4


def test_a_ros_1_bag_is_read_with_its_camera(tmp_path):
    store = get_typestore(Stores.ROS1_NOETIC)
    path = tmp_path / 'old.bag'
    time, header = store.types['builtin_interfaces/msg/Time'], store.types['std_msgs/msg/Header']
    kind, info = 'sensor_msgs/msg/Image', 'sensor_msgs/msg/CameraInfo'
    region = store.types['sensor_msgs/msg/RegionOfInterest'](0, 0, 0, 0, False)
    with Ros1Writer(path) as bag:
        topic = bag.add_connection('/cam/image_raw', kind, typestore=store)
        infos = bag.add_connection('/cam/camera_info', info, typestore=store)
        for i, image in enumerate(pictures()):
            head = header(seq=i, stamp=time(sec=5 + i, nanosec=7), frame_id='eye')
            message = store.types[kind](header=head, height=64, width=96, encoding='bgr8',
                                        is_bigendian=0, step=288, data=image.reshape(-1))
            calibration = store.types[info](
                header=head, height=64, width=96, distortion_model='plumb_bob', D=np.zeros(5),
                K=np.array([80.0, 0, 48, 0, 80, 32, 0, 0, 1]), R=np.eye(3).reshape(-1),
                P=np.zeros(12), binning_x=0, binning_y=0, roi=region)
            stamp = (5 + i) * 10**9
            bag.write(topic, stamp, store.serialize_ros1(message, kind))
            bag.write(infos, stamp, store.serialize_ros1(calibration, info))
    with open_source(path) as source:
        frames = list(source)
        assert source.camera_of(frames[0]).matrix[0, 0] == 80
    assert [f.stamp for f in frames] == [(5 + i) * 10**9 + 7 for i in range(4)]
    np.testing.assert_array_equal(frames[2].image, pictures()[2])


def test_the_calibration_is_used_for_frames_of_its_size_and_frame_only(small_bag):
    folder, truth = small_bag
    with open_source(folder) as source:
        frame = next(iter(source))
        np.testing.assert_array_equal(source.camera_of(frame).matrix, truth.camera)
        other = type(frame)(frame.image, frame.stamp, 'another_camera')
        assert source.camera_of(other) is None


def test_a_folder_of_images_is_read_in_the_order_of_its_numbers(tmp_path):
    images = pictures(12)
    for i, image in enumerate(images):
        cv2.imwrite(str(tmp_path / f'frame{i}.png'), image)
    (tmp_path / 'notes.txt').write_text('not an image')
    with open_source(tmp_path, fps=10) as source:
        frames = list(source)
    assert len(frames) == 12
    for frame, image in zip(frames, images):
        np.testing.assert_array_equal(frame.image, image)
    assert frames[1].stamp - frames[0].stamp == 100_000_000


@pytest.mark.parametrize('depth, shape', [(np.uint8, (32, 48)), (np.uint16, (32, 48))])
def test_grey_and_16_bit_images_are_not_converted(tmp_path, depth, shape):
    image = np.arange(np.prod(shape), dtype=depth).reshape(shape)
    cv2.imwrite(str(tmp_path / '0.png'), image)
    frame = next(iter(open_source(tmp_path)))
    assert frame.image.dtype == depth
    np.testing.assert_array_equal(frame.image, image)


@pytest.mark.parametrize('suffix', ['mp4', 'avi'])
def test_a_video_is_read_with_its_rate(tmp_path, suffix):
    path = tmp_path / f'clip.{suffix}'
    writer = VideoWriter(path, 25.0)
    for image in pictures(6):
        writer.write(image)
    writer.close()
    with open_source(path) as source:
        frames = list(source)
    assert len(frames) == source.count == 6
    assert frames[1].stamp - frames[0].stamp == 40_000_000
    assert np.abs(frames[3].image.astype(int) - pictures(6)[3]).mean() < 12


def test_one_topic_is_found_and_several_are_named(tmp_path):
    one = write_bag(tmp_path / 'one', pictures())
    assert open_source(one).topic == '/camera/image_raw'
    two = write_bag(tmp_path / 'two', pictures(), topics=('/left/image', '/right/image'))
    with pytest.raises(InputError, match='--topic: /left/image, /right/image'):
        open_source(two)
    assert len(list(open_source(two, topic='/right/image'))) == 4
    with pytest.raises(InputError, match="topic '/nope'; it has /left/image, /right/image"):
        open_source(two, topic='/nope')


def test_messages_without_a_stamp_take_the_time_of_recording(tmp_path):
    types = rosbags_types()
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write('/image', encode_image(types, header_of(types, 0, ''), pictures()[0]), 123456)
    assert next(iter(open_source(tmp_path / 'bag'))).stamp == 123456


def test_an_image_that_cannot_be_decoded_is_skipped_and_counted(tmp_path):
    types = rosbags_types()
    with BagWriter(tmp_path / 'bag') as bag:
        for i, image in enumerate(pictures()):
            message = encode_image(types, header_of(types, 10**9 + i, 'eye'), image)
            if i == 1:
                message = type(message)(**{**vars(message), 'encoding': 'secret'})
            bag.write('/image', message, 10**9 + i)
    with open_source(tmp_path / 'bag') as source:
        assert len(list(source)) == 3 and source.skipped == 1


# Bad input: one sentence each.

def refusal(path, **options):
    with pytest.raises(InputError) as caught, open_source(path, **options) as source:
        list(source)
    sentence = str(caught.value)
    assert str(path) in sentence and '\n' not in sentence and len(sentence) < 500
    return sentence


def test_a_missing_path_is_refused(tmp_path):
    assert 'does not exist' in refusal(tmp_path / 'nothing')


def test_an_empty_folder_is_refused(tmp_path):
    assert 'no images' in refusal(tmp_path)


def test_a_folder_of_mixed_sizes_is_refused_with_the_name_of_the_odd_one(tmp_path):
    for i, size in enumerate([(96, 64), (96, 64), (64, 48)]):
        cv2.imwrite(str(tmp_path / f'{i}.png'), pictures(1, size)[0])
    assert '2.png has 64 x 48' in refusal(tmp_path)


def test_a_broken_image_in_a_folder_is_refused(tmp_path):
    (tmp_path / '0.png').write_bytes(b'\x89PNG nonsense')
    (tmp_path / '1.png').write_bytes(b'')
    assert '0.png cannot be decoded' in refusal(tmp_path)


def test_a_single_image_is_refused_as_a_sequence(tmp_path):
    path = tmp_path / 'a.png'
    cv2.imwrite(str(path), pictures(1)[0])
    assert 'single image' in refusal(path)


@pytest.mark.parametrize('content', [b'', b'no video at all', os.urandom(5000)])
def test_a_file_that_is_not_a_video_is_refused(tmp_path, content):
    path = tmp_path / 'clip.mp4'
    path.write_bytes(content)
    assert 'cannot be decoded as a video' in refusal(path)


def test_a_truncated_video_is_refused(tmp_path):
    path = tmp_path / 'clip.mp4'
    writer = VideoWriter(path, 30)
    for image in pictures(10):
        writer.write(image)
    writer.close()
    path.write_bytes(path.read_bytes()[:2000])
    assert 'video' in refusal(path)


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@pytest.mark.parametrize('share', [0.0, 0.3, 0.9])
def test_a_truncated_bag_is_refused(tmp_path, storage, share):
    folder = write_bag(tmp_path / 'bag', pictures(), storage=storage)
    file = next(f for f in folder.iterdir() if f.suffix in ('.mcap', '.db3'))
    data = file.read_bytes()
    file.write_bytes(data[:int(share * len(data))])
    assert 'truncated' in refusal(folder)


def test_a_bag_whose_metadata_are_broken_is_refused(tmp_path):
    folder = write_bag(tmp_path / 'bag', pictures())
    (folder / 'metadata.yaml').write_text('rosbag2_bagfile_information: [')
    assert 'not a readable bag' in refusal(folder)


def test_metadata_cannot_lead_the_reader_out_of_its_folder(tmp_path):
    folder = write_bag(tmp_path / 'bag', pictures())
    shutil.move(folder / 'bag.mcap', tmp_path / 'elsewhere.mcap')
    metadata = folder / 'metadata.yaml'
    metadata.write_text(metadata.read_text().replace('bag.mcap', '../elsewhere.mcap'))
    assert 'not a readable bag' in refusal(folder)


def test_a_bag_without_images_is_refused_with_its_topics(tmp_path):
    types = rosbags_types()
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write('/colour', types.ColorRGBA(r=1.0, g=0.0, b=0.0, a=1.0), 1)
    assert 'contains no images; its topics are /colour' in refusal(tmp_path / 'bag')


def test_a_bag_whose_images_are_all_unreadable_is_refused_with_the_reason(tmp_path):
    types = rosbags_types()
    with BagWriter(tmp_path / 'bag') as bag:
        message = types.CompressedImage(header=header_of(types, 1, ''), format='jpeg',
                                        data=np.zeros(10, np.uint8))
        bag.write('/image/compressed', message, 1)
    assert 'neither JPEG nor PNG' in refusal(tmp_path / 'bag')


def test_a_bag_that_changes_its_size_is_refused(tmp_path):
    folder = write_bag(tmp_path / 'bag', [*pictures(2), *pictures(1, (64, 48))])
    assert 'message 2 of /camera/image_raw has 64 x 48' in refusal(folder)


def test_a_topic_is_refused_if_the_input_is_not_a_bag(tmp_path):
    cv2.imwrite(str(tmp_path / '0.png'), pictures(1)[0])
    assert "no topic '/image'" in refusal(tmp_path, topic='/image')


def test_a_rate_out_of_range_is_refused(tmp_path):
    with pytest.raises(InputError, match='fps'):
        open_source(tmp_path, fps=0.0)


def test_a_storage_format_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(InputError, match='mcap, sqlite3'):
        BagWriter(tmp_path / 'bag', 'tape')
    (tmp_path / 'there').mkdir()
    with pytest.raises(InputError, match='cannot be written'):
        BagWriter(tmp_path / 'there')


def test_rendered_bags_carry_a_camera_info_for_every_image(tmp_path):
    write_scene(tmp_path / 'bag', SceneOptions('static_world', 3, (64, 48), compressed=True))
    with BagReader(tmp_path / 'bag') as bag:
        assert bag.count('/camera/image_raw/compressed') == bag.count('/camera/camera_info') == 3
        camera, frame_id = bag.camera('/camera/image_raw/compressed')
    assert camera.image_size == (64, 48) and frame_id == 'camera'
