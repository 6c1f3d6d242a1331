# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files of any content give frames, pairs or an InputError."""

from pathlib import Path
import warnings

import cv2
from fuzzing import edited, EDITS, fuzz
from hypothesis import given, strategies as st
import numpy as np
import pytest
from scipy.io import savemat

from gdm_motion_seg.cli.flags import read_parameters
from gdm_motion_seg.io.bags import BagWriter
from gdm_motion_seg.io.folders import read_image
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.io.videos import VideoWriter
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import encode_compressed, encode_image
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.settings import with_flat
from gdm_motion_seg.tracking.mask_file import read_mask
from gdm_motion_seg_tools.datasets.adelaide import read_adelaide
from gdm_motion_seg_tools.datasets.hopkins155 import read_hopkins155
from gdm_motion_seg_tools.datasets.kt3dmoseg import read_kt3dmoseg
from gdm_motion_seg_tools.datasets.pair import make_pair
from gdm_motion_seg_tools.synth.scene_bags import camera_info
from gdm_motion_seg_tools.synth.truth import Truth

RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 255, (12, 16, 3), np.uint8)
CAMERA = np.array([[20.0, 0.0, 8.0], [0.0, 20.0, 6.0], [0.0, 0.0, 1.0]])
FIELDS = {
    'adelaide': (read_adelaide, 'a.mat', {
        'data': RNG.uniform(0, 100, (6, 12)), 'label': np.repeat([0, 1, 2], 4),
        'img1': np.zeros((4, 5, 3), np.uint8)}),
    'hopkins': (read_hopkins155, 'cars_truth.mat', {
        'y': RNG.uniform(0, 100, (3, 12, 3)), 's': np.repeat([1, 2], 6), 'width': 640,
        'height': 480}),
    'kt3dmoseg': (read_kt3dmoseg, 'Seq1.mat', {'Data': {
        'ySparse': RNG.uniform(0, 100, (3, 12, 6)), 'visibleSparse': np.ones((12, 6), np.uint8),
        'GtLabel': np.repeat([1, 2], 6)}}),
}


def read_frames(path):
    """Read all frames of a source."""
    with open_source(path) as source:
        for frame in source:
            source.camera_of(frame)
    return True


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    """Return the files of small bags: storage and metadata."""
    types, folder = rosbags_types(), tmp_path_factory.mktemp('bags')
    for storage in ('mcap', 'sqlite3'):
        for compressed in (False, True):
            encode = encode_compressed if compressed else encode_image
            with BagWriter(folder / f'{storage}{compressed}', storage) as bag:
                for stamp in (10**9, 2 * 10**9):
                    header = header_of(types, stamp, 'camera')
                    bag.write('/image/compressed' if compressed else '/image',
                              encode(types, header, PICTURE[:5, :7]), stamp)
                    bag.write('/camera_info', camera_info(types, header, CAMERA, (7, 5)), stamp)
    return [(path, path.read_bytes()) for path in sorted(folder.rglob('*')) if path.is_file()]


@fuzz(6)
@given(data=st.data(), edits=EDITS)
def test_a_bag_that_was_damaged(trial, bags, data, edits):
    path, content = data.draw(st.sampled_from(bags))
    path.write_bytes(edited(content, edits))
    try:
        trial(read_frames, path.parent)
        if path.suffix != '.yaml':
            trial(read_frames, path)
    finally:
        path.write_bytes(content)


@fuzz(2)
@given(suffix=st.sampled_from(('.mcap', '.db3', '.bag')), content=st.binary(max_size=300),
       start=st.sampled_from((b'', b'\x89MCAP0\r\n', b'SQLite format 3\0', b'#ROSBAG V2.0\n')))
def test_a_bag_of_any_bytes(trial, tmp_path_factory, suffix, content, start):
    path = folder_of(tmp_path_factory, 'any') / f'bag{suffix}'
    path.write_bytes(start + content)
    trial(read_frames, path)


def folder_of(factory, name):
    """Return an empty folder with a constant name."""
    folder = factory.getbasetemp() / f'fuzz_{name}'
    folder.mkdir(exist_ok=True)
    return folder


def mat_file(factory, name, fields):
    """Write the file of a data set; returns its folder and its path."""
    folder = folder_of(factory, name)
    path = folder / FIELDS[name][1]
    frames = folder / 'frames' / path.stem
    if not frames.is_dir():
        frames.mkdir(parents=True)
        cv2.imwrite(str(frames / '0.png'), PICTURE)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        savemat(path, fields)
    return folder, path


def read_pairs(read, folder):
    """Read all pairs of a data set."""
    with warnings.catch_warnings(), np.errstate(all='ignore'):
        warnings.simplefilter('ignore')
        return list(read(folder))


@fuzz(4)
@given(name=st.sampled_from([*FIELDS]), edits=EDITS)
def test_a_data_set_that_was_damaged(trial, tmp_path_factory, name, edits):
    read, _, fields = FIELDS[name]
    folder, path = mat_file(tmp_path_factory, name, fields)
    path.write_bytes(edited(path.read_bytes(), edits))
    trial(read_pairs, read, folder)


SHAPE = st.one_of(st.sampled_from(((6, 12), (3, 12, 3), (3, 12, 6), (12,), (12, 6), (1, 12))),
                  st.lists(st.integers(0, 4), max_size=4).map(tuple))


def filled(shape, kind, value):
    """Return an array of one value, converted to the type."""
    with np.errstate(all='ignore'):
        return np.full(shape, value).astype(kind)


ARRAY = st.builds(filled, SHAPE,
                  st.sampled_from((np.float64, np.float32, np.uint8, np.int64, np.complex128)),
                  st.sampled_from((0.0, 1.0, 2.5, -1.0, 1e30, np.nan, np.inf)))
VALUE = st.one_of(ARRAY, st.text('abc', max_size=5), st.floats(), st.integers(-9, 9),
                  st.builds(lambda: np.array([{}, 'a'], object)))


@fuzz(6)
@given(name=st.sampled_from([*FIELDS]), data=st.data())
def test_a_data_set_with_fields_of_any_kind(trial, tmp_path_factory, name, data):
    read, _, good = FIELDS[name]
    inner = dict(good.get('Data', good))
    for key in data.draw(st.lists(st.sampled_from([*inner]), min_size=1, max_size=2)):
        inner[key] = data.draw(VALUE)
        if data.draw(st.booleans()):
            del inner[key]
            break
    fields = {'Data': inner} if 'Data' in good else inner
    if 'Data' in good and data.draw(st.integers(0, 9)) == 0:
        fields = {'Data': data.draw(VALUE)}
    folder, _ = mat_file(tmp_path_factory, name, fields)
    trial(read_pairs, read, folder)


@fuzz(2)
@given(x1=VALUE, x2=VALUE, labels=VALUE, width=st.one_of(st.floats(), st.integers(-2, 9)))
def test_a_pair_of_anything(trial, x1, x2, labels, width):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        trial(make_pair, 'pair', x1, x2, (width, 480), labels)


IMAGES = [(suffix, cv2.imencode(suffix, PICTURE)[1].tobytes())
          for suffix in ('.png', '.jpg', '.bmp', '.tif', '.ppm', '.webp')]


@fuzz(2)
@given(image=st.sampled_from(IMAGES), edits=EDITS)
def test_an_image_file_that_was_damaged(trial, tmp_path_factory, image, edits):
    path = folder_of(tmp_path_factory, 'image') / f'image{image[0]}'
    path.write_bytes(edited(image[1], edits))
    trial(read_image, path)


@pytest.fixture(scope='module')
def video(tmp_path_factory):
    """Return the bytes of a short video."""
    path = tmp_path_factory.mktemp('video') / 'video.mp4'
    writer = VideoWriter(path, 30.0)
    for _ in range(3):
        writer.write(np.kron(PICTURE, np.ones((4, 4, 1), np.uint8)))
    writer.close()
    return path.read_bytes()


@fuzz(0.5)
@given(edits=EDITS)
def test_a_video_that_was_damaged(trial, tmp_path_factory, video, edits):
    path = folder_of(tmp_path_factory, 'video') / 'video.mp4'
    path.write_bytes(edited(video, edits))
    trial(read_frames, path)


PARAMETERS = (Path(__file__).resolve().parents[2] / 'config' / 'motion_seg.yaml').read_bytes()


@fuzz(0.5)
@given(edits=EDITS)
def test_a_parameter_file_that_was_damaged(trial, tmp_path_factory, edits):
    path = folder_of(tmp_path_factory, 'yaml') / 'parameters.yaml'
    path.write_bytes(edited(PARAMETERS, edits))
    trial(read_parameters, path)


@fuzz(1)
@given(edits=EDITS)
def test_a_truth_that_was_damaged(trial, tmp_path_factory, small_bag, edits):
    content = (small_bag[0] / 'truth' / 'truth.json').read_bytes()[:4000]
    path = folder_of(tmp_path_factory, 'truth') / 'truth.json'
    path.write_bytes(edited(content, edits))
    trial(Truth.load, path.parent)


YAML = st.recursive(
    st.sampled_from(('1', '&a 1', '*a', '2001-99-99', '9' * 4400, '.inf', '~', '"x"', '0x',
                     '!!binary a', '!!set {a}', '!!timestamp 1', '1e999', '"\\uD800"')),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: f'[{", ".join(parts)}]'),
        st.lists(st.tuples(st.sampled_from(('a', 'ros__parameters', '1', '? b', '<<')), inner),
                 max_size=3).map(lambda pairs: '{' + ', '.join(f'{k}: {v}' for k, v in pairs)
                                 + '}')), max_leaves=12)


@fuzz(2)
@given(text=YAML)
def test_a_parameter_file_of_any_structure(trial, tmp_path_factory, text):
    path = folder_of(tmp_path_factory, 'yaml') / 'any.yaml'
    path.write_text(text, encoding='utf-8', errors='replace')
    parameters = trial(read_parameters, path)
    if parameters is not None:
        trial(with_flat, NodeConfig(), parameters)


@fuzz(2)
@given(file=st.sampled_from(('.png', '.jpg', '.bmp', '.tif', '.webp', '.pgm')), edits=EDITS)
def test_a_mask_that_was_damaged(trial, tmp_path_factory, file, edits):
    path = folder_of(tmp_path_factory, 'mask') / f'mask{file}'
    path.write_bytes(edited(cv2.imencode(file, PICTURE[..., 0])[1].tobytes(), edits))
    trial(read_mask, str(path))
