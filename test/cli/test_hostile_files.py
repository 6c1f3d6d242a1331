# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Malicious or damaged files: one sentence, exit code 2, in time."""

import struct
import zlib

import cv2
import numpy as np
import pytest

from gdm_motion_seg.cli import memory
from gdm_motion_seg.cli.main import main
from gdm_motion_seg.io import bags
from gdm_motion_seg.io.bags import BagWriter, typestore
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import encode_image
from gdm_motion_seg.msgs.rosbags_types import rosbags_types

START = '/**:\n  ros__parameters:\n    '
LAUGHS = '\n'.join(f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 9)}]' if i else 'a0: &a0 lol'
                   for i in range(20))


def refusal(capsys, *words):
    """Return the one sentence of a command that refuses its input."""
    capsys.readouterr()
    assert main(list(words)) == 2
    error = capsys.readouterr().err.strip()
    assert 'Traceback' not in error and len(error.splitlines()) == 1, error
    return error


def image_message(stamp=10**9, image=None):
    """Return a small image."""
    types = rosbags_types()
    grey = np.zeros((24, 32), np.uint8) if image is None else image
    return encode_image(types, header_of(types, stamp, 'eye'), grey)


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Return a bag of textured frames."""
    folder = tmp_path_factory.mktemp('hostile') / 'bag'
    rng = np.random.default_rng(0)
    base = cv2.GaussianBlur(rng.integers(0, 255, (64, 96), np.uint8), (0, 0), 2)
    with BagWriter(folder) as writer:
        for i in range(8):
            stamp = 10**9 + i * 33_333_333
            writer.write('/image', image_message(stamp, np.roll(base, 2 * i, axis=1)), stamp)
    return folder


@pytest.mark.parametrize('text, reason', [
    (START + 'a: &a [*a]', 'anchors and aliases'), (LAUGHS, 'anchors and aliases'),
    ('[' * 100_000, 'nested more than 20 deep'), ('{a: ' * 5_000, 'nested more than 20 deep'),
    (START + 'seed: ' + '9' * 5000, 'not valid YAML'),
    (START + 'seed: 2001-99-99', 'not valid YAML'),
    (START + '#' * 300_000, 'more than 200000 bytes'),
    (START + 'seed: !!timestamp 1', "tag 'tag:yaml.org,2002:timestamp' is not supported"),
], ids=['self-anchor', 'billion laughs', 'deep list', 'deep map', 'many digits', 'no date',
        'too long', 'tag'])
def test_a_malicious_parameter_file_is_refused(capsys, tmp_path, bag, text, reason):
    file = tmp_path / 'p.yaml'
    file.write_text(text)
    assert reason in refusal(capsys, 'bag', str(bag), '--out', str(tmp_path / 'out'), '--params',
                             str(file))
    assert not (tmp_path / 'out').exists()


@pytest.mark.parametrize('value', ['9' * 5000, '2001-99-99', '[' * 1000, '&a [*a]'])
def test_a_malicious_value_on_the_command_line_is_refused(capsys, bag, value):
    assert 'seed' in refusal(capsys, 'bag', str(bag), '--set', f'seed={value}') or value[0] in '[&'


@pytest.mark.parametrize('sec, nanosec, recorded', [
    (-5, 0, 10**9), (2**31 - 1, 2**32 - 1, 10**9), (0, 0, 2**63 - 1), (0, 0, 0)],
    ids=['negative', 'overflowing', 'recorded at the end of time', 'no time at all'])
def test_a_bag_with_times_outside_the_range_of_ros_is_refused(capsys, tmp_path, sec, nanosec,
                                                              recorded):
    message = image_message()
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    with BagWriter(tmp_path / 'bag') as writer:
        for _ in range(3):
            writer.write('/image', message, recorded)
    assert 'outside the range of ROS' in refusal(
        capsys, 'bag', str(tmp_path / 'bag'), '--out', str(tmp_path / 'out'))


def test_a_chunk_that_expands_without_bound_is_refused(capsys, tmp_path, monkeypatch):
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
    writer = Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection('/image', bags.IMAGE, typestore=typestore())
        writer.write(connection, 10**9, bytes(400_000_000))
    assert (tmp_path / 'bag' / 'bag.mcap').stat().st_size < 1_000_000
    monkeypatch.setattr(memory, 'ROOM', 200_000_000)
    assert 'needs more memory than is available' in refusal(
        capsys, 'bag', str(tmp_path / 'bag'), '--out', str(tmp_path / 'out'))


def test_a_message_definition_with_endless_fields_is_refused(capsys, tmp_path, bag, monkeypatch):
    monkeypatch.setattr(bags, 'MAX_DEFINITION', 100)
    assert 'the definition of sensor_msgs/msg/Image is too long' in refusal(
        capsys, 'bag', str(bag), '--out', str(tmp_path / 'out'))


def huge_png(side):
    """Return a valid 16 bit PNG of so many pixels in a few kilobytes."""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack(
            '>I', zlib.crc32(kind + data))

    packer = zlib.compressobj()
    row = bytes(1 + 2 * side)
    pixels = b''.join(packer.compress(row) for _ in range(side)) + packer.flush()
    header = struct.pack('>IIBBBBB', side, side, 16, 0, 0, 0, 0)
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + chunk(b'IDAT', pixels)
            + chunk(b'IEND', b''))


def test_an_image_file_of_too_many_pixels_is_refused_before_it_takes_memory(capsys, tmp_path):
    file = tmp_path / 'huge.png'
    data = bytearray(huge_png(20))
    data[16:24] = (30000).to_bytes(4, 'big') * 2
    file.write_bytes(data)
    assert '30000 x 30000 pixels, more than the limit' in refusal(
        capsys, 'segment', str(file), str(file))


def test_opencv_refuses_larger_images_of_any_format(capsys, tmp_path):
    file = tmp_path / 'huge.pgm'
    file.write_bytes(b'P5 30000 30000 255\n')
    assert 'cannot be decoded' in refusal(capsys, 'segment', str(file), str(file))


def test_two_runs_on_the_same_images_write_the_same_bag(tmp_path, bag):
    for name in ('a', 'b'):
        assert main(['bag', str(bag), '--out', str(tmp_path / name / 'out'), '--no-video',
                     '--no-tables', '--storage', 'sqlite3']) == 0

    def messages(name):
        with bags.BagReader(tmp_path / name / 'out' / 'answers') as reader:
            return [(topic, stamp, bytes(raw)) for topic, _, stamp, raw in reader.raw()]

    assert messages('a') == messages('b')


def test_replay_refuses_a_name_that_no_topic_can_have(capsys, bag, monkeypatch):
    pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
    from gdm_motion_seg.ros.process import dds_environment
    for name, value in dds_environment().items():
        monkeypatch.setenv(name, value)
    assert 'is not a valid topic name' in refusal(capsys, 'replay', str(bag), '--topic',
                                                  '/image:=/not a topic')
