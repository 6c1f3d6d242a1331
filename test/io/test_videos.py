# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Videos that are written: playable in browsers, the same every time, of any size."""

import cv2
import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io import cameras, videos
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.io.videos import plays_in_browsers, VideoSource, VideoWriter

RANDOM = np.random.default_rng(0)


@pytest.fixture(params=['H.264', 'MPEG-4'])
def encoder(request, monkeypatch):
    """Use one encoder; return its name."""
    if request.param == 'H.264' and not plays_in_browsers():
        pytest.skip('needs PyAV with H.264')
    monkeypatch.setattr(videos, 'plays_in_browsers', lambda: request.param == 'H.264')
    return request.param


def write(path, images, fps=25.0):
    writer = VideoWriter(path, fps)
    for image in images:
        writer.write(image)
    writer.close()
    return path


def gradient(width, height, shift):
    ramp = (np.arange(width) * 255 // width + shift) % 256
    return np.repeat(np.tile(ramp, (height, 1))[..., None], 3, axis=2).astype(np.uint8)


def test_what_is_written_can_be_read_again(tmp_path, encoder):
    images = [gradient(320, 240, 5 * i) for i in range(12)]
    with VideoSource(write(tmp_path / 'a.mp4', images)) as source:
        assert (source.count, source.fps) == (12, 25.0)
        for image, frame in zip(images, source):
            assert np.abs(image.astype(int) - frame.image).mean() < 12


def test_the_codec_is_one_that_browsers_play(tmp_path):
    av = pytest.importorskip('av', reason='needs PyAV')
    path = write(tmp_path / 'a.mp4', [gradient(64, 48, 0)] * 3)
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt) == ('h264', 'yuv420p')
    # The index precedes the pictures, so a browser can start before it has the whole file.
    data = path.read_bytes()
    assert data.index(b'moov') < data.index(b'mdat')


def test_the_same_pictures_give_the_same_file(tmp_path, encoder):
    images = [RANDOM.integers(0, 255, (48, 64, 3), np.uint8) for _ in range(10)]
    first, second = (write(tmp_path / name, images) for name in ('a.mp4', 'b.mp4'))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize('size', [(63, 47), (64, 47), (1, 1)])
def test_odd_sizes_are_written(tmp_path, encoder, size):
    image = gradient(*size, 0)
    with VideoSource(write(tmp_path / 'a.mp4', [image] * 3)) as source:
        frame = next(iter(source))
    assert frame.size == (size[0] + size[0] % 2, size[1] + size[1] % 2)


def test_a_frame_of_another_size_is_fitted(tmp_path, encoder):
    images = [gradient(64, 48, 0), gradient(128, 48, 0), gradient(32, 24, 0)]
    with VideoSource(write(tmp_path / 'a.mp4', images)) as source:
        assert [frame.size for frame in source] == [(64, 48)] * 3


def test_a_video_that_cannot_be_written_is_one_sentence(tmp_path, encoder):
    with pytest.raises(InputError, match='cannot be written as a video'):
        write(tmp_path / 'none' / 'a.mp4', [gradient(64, 48, 0)] * 3)


class Camera:
    """Replaces cv2.VideoCapture: a camera that stops after three images."""

    there = True

    def __init__(self, number):
        self.left = 3

    def isOpened(self):  # noqa: N802
        return self.there

    def get(self, _):
        return 30.0

    def set(self, *_):  # noqa: A003
        return False

    def read(self):
        self.left -= 1
        return self.left >= 0, gradient(64, 48, self.left)

    def release(self):
        pass


def test_a_number_is_a_camera_whose_stamps_are_of_the_clock(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cameras.cv2, 'VideoCapture', Camera)
    with open_source('0') as source:
        assert source.live and source.count is None
        frames = []
        with pytest.raises(InputError, match='camera 0 stopped after 3 images'):
            for frame in source:
                frames.append(frame)
    assert len(frames) == 3 and frames[0].stamp < frames[2].stamp


def test_a_missing_camera_is_refused_with_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cameras.cv2, 'VideoCapture', Camera)
    monkeypatch.setattr(Camera, 'there', False)
    with pytest.raises(InputError, match='no camera 7 that can be opened'):
        open_source('7')


def test_a_file_whose_name_is_a_number_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / '0').mkdir()
    cv2.imwrite(str(tmp_path / '0' / 'a.png'), gradient(64, 48, 0))
    with open_source('0') as source:
        assert not source.live
