# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The readers of data sets, on small files made here, and on the real ones if present."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.io import savemat

from gdm_motion_seg.errors import InputError
from gdm_motion_seg_tools.datasets import matfile
from gdm_motion_seg_tools.datasets.adelaide import read_adelaide
from gdm_motion_seg_tools.datasets.hopkins155 import category, read_hopkins155
from gdm_motion_seg_tools.datasets.kt3dmoseg import read_kt3dmoseg
from gdm_motion_seg_tools.datasets.matfile import read_mat
from gdm_motion_seg_tools.datasets.pair import make_pair

DATA = Path(__file__).resolve().parents[2].parent / 'shared' / 'data'
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f'there is no {DATA}')


def write_hopkins(path, **changes):
    rng = np.random.default_rng(0)
    fields = {'y': np.concatenate([rng.uniform(0, 480, (2, 30, 5)), np.ones((1, 30, 5))]),
              's': np.repeat([1, 2], 15)[:, None], 'width': 640, 'height': 480} | changes
    savemat(path, {name: value for name, value in fields.items() if value is not None})
    return fields


def write_clip(folder, seen, labels):
    rng = np.random.default_rng(1)
    tracks = np.concatenate([rng.uniform(0, 300, (2, *seen.shape)), np.ones((1, *seen.shape))])
    savemat(folder / 'Seq000_Clip01.mat', {'Data': {
        'ySparse': tracks, 'visibleSparse': seen.astype(np.uint8), 'GtLabel': labels}})
    frames = folder / 'frames' / 'Seq000_Clip01'
    frames.mkdir(parents=True)
    cv2.imwrite(str(frames / '000001.png'), np.zeros((375, 1242), np.uint8))
    return tracks


def test_hopkins_gives_first_and_last_frame(tmp_path):
    fields = write_hopkins(tmp_path / 'cars1_truth.mat')
    pair, = read_hopkins155(tmp_path)
    assert pair.name == 'cars1'
    assert pair.group == 'traffic'
    assert pair.image_size == (640, 480)
    assert pair.n_motions == 2
    np.testing.assert_array_equal(pair.x1, fields['y'][:2, :, 0].T)
    np.testing.assert_array_equal(pair.x2, fields['y'][:2, :, 4].T)
    assert set(pair.truth) == {0, 1}


def test_adelaide_labels_zero_are_outliers(tmp_path):
    data = np.random.default_rng(0).uniform(0, 400, (6, 20))
    labels = np.array([0] * 4 + [1] * 8 + [2] * 8, np.uint8)[None]
    savemat(tmp_path / 'cube.mat', {'data': data, 'label': labels,
                                    'img1': np.zeros((480, 640, 3), np.uint8)})
    pair, = read_adelaide(tmp_path)
    assert pair.image_size == (640, 480)
    assert pair.n_motions == 2
    assert (pair.truth == -1).sum() == 4
    np.testing.assert_array_equal(pair.x2, data[3:5].T)


def test_kt3dmoseg_keeps_the_points_that_both_frames_see(tmp_path):
    seen = np.ones((40, 6), bool)
    seen[:10, 5] = False
    labels = np.array([1] * 30 + [3] * 8 + [4] * 2)
    tracks = write_clip(tmp_path, seen, labels)
    first, second = read_kt3dmoseg(tmp_path)
    assert (first.name, second.name) == ('Seq000_Clip01/000', 'Seq000_Clip01/001')
    assert first.image_size == (1242, 375)
    assert (len(first), len(second)) == (40, 30)
    np.testing.assert_array_equal(second.x2, tracks[:2, 10:, 5].T)
    assert first.background == 0
    assert first.n_motions == 2, 'a motion of two points is not counted in K'
    assert set(first.truth) == {0, 1, 2}, 'but its points count in the error'


def test_the_points_of_the_background_are_a_static_scene(tmp_path):
    write_clip(tmp_path, np.ones((40, 5), bool), np.array([2] * 10 + [1] * 30))
    pair, = read_kt3dmoseg(tmp_path)
    still = pair.only_background()
    assert len(still) == 30
    assert still.n_motions == 1
    np.testing.assert_array_equal(still.x1, pair.x1[10:])


@pytest.mark.parametrize('name, kind', [
    ('1R2RC', 'checkerboard'), ('three-cars', 'checkerboard'), ('cars10_g12', 'traffic'),
    ('truck2', 'traffic'), ('kanatani1', 'traffic'), ('kanatani3', 'articulated'),
    ('two_cranes', 'articulated'), ('head', 'articulated')])
def test_the_category_follows_from_the_name(name, kind):
    assert category(name) == kind


@pytest.mark.parametrize('read', [read_hopkins155, read_adelaide, read_kt3dmoseg])
def test_a_missing_folder_is_refused_with_one_sentence(read, tmp_path):
    with pytest.raises(InputError, match='there is no folder'):
        list(read(tmp_path / 'nowhere'))


@pytest.mark.parametrize('read', [read_hopkins155, read_adelaide, read_kt3dmoseg])
def test_a_folder_without_the_files_is_refused_with_one_sentence(read, tmp_path):
    with pytest.raises(InputError, match='contains no'):
        list(read(tmp_path))


@pytest.mark.parametrize('read', [read_hopkins155, read_adelaide, read_kt3dmoseg])
@pytest.mark.parametrize('content', [b'', b'not a file', b'MATLAB 5.0 MAT-file' + bytes(200)])
def test_a_corrupt_file_is_refused_with_its_name(read, content, tmp_path):
    (tmp_path / 'a_truth.mat').write_bytes(content)
    with pytest.raises(InputError, match='a_truth.mat'):
        list(read(tmp_path))


def test_a_truncated_file_is_refused_with_one_sentence(tmp_path):
    write_hopkins(tmp_path / 'b_truth.mat')
    whole = (tmp_path / 'b_truth.mat').read_bytes()
    for length in (100, 130, 200, len(whole) // 2, len(whole) - 4):
        (tmp_path / 'b_truth.mat').write_bytes(whole[:length])
        with pytest.raises(InputError, match='b_truth.mat'):
            list(read_hopkins155(tmp_path))


@pytest.mark.parametrize('changes, words', [
    ({'y': None}, "no field 'y'"),
    ({'width': None}, "no field 'width'"),
    ({'y': np.ones((2, 30, 5))}, '3 x P x F'),
    ({'y': np.ones((3, 30, 1))}, '3 x P x F'),
    ({'y': np.full((3, 30, 5), np.nan)}, 'finite'),
    ({'width': np.ones(3)}, 'one finite number'),
    ({'width': 0}, 'positive'),
    ({'s': np.ones(7)}, '7 labels'),
    ({'s': np.full(30, -2)}, 'whole numbers'),
])
def test_wrong_fields_are_refused_with_one_sentence(changes, words, tmp_path):
    write_hopkins(tmp_path / 'cars1_truth.mat', **changes)
    with pytest.raises(InputError, match=words):
        list(read_hopkins155(tmp_path))


def test_a_clip_without_frames_is_refused_with_one_sentence(tmp_path):
    write_clip(tmp_path, np.ones((10, 5), bool), np.ones(10))
    (tmp_path / 'frames' / 'Seq000_Clip01' / '000001.png').write_bytes(b'no image')
    with pytest.raises(InputError, match='cannot be read as an image'):
        list(read_kt3dmoseg(tmp_path))


def test_labels_with_gaps_become_consecutive():
    pair = make_pair('p', np.ones((4, 2)), np.ones((4, 2)), (10, 10), [0, 7, 3, 3])
    assert pair.truth.tolist() == [-1, 1, 0, 0]


@needs_data
def test_hopkins155_has_155_sequences_in_three_categories():
    pairs = list(read_hopkins155(DATA / 'hopkins155'))
    counts = {(k, group): sum(p.n_motions == k and p.group == group for p in pairs)
              for k in (2, 3) for group in ('checkerboard', 'traffic', 'articulated')}
    assert list(counts.values()) == [78, 31, 11, 26, 7, 2]
    assert {p.image_size for p in pairs} == {(640, 480), (320, 240), (360, 240), (720, 480)}


@needs_data
def test_adelaide_has_19_pairs_of_one_to_four_motions():
    pairs = list(read_adelaide(DATA / 'adelaidermf_f'))
    assert np.bincount([p.n_motions for p in pairs]).tolist() == [0, 4, 6, 7, 2]
    shares = [np.mean(p.truth < 0) for p in pairs]
    assert 0.26 < min(shares) < max(shares) < 0.74


@needs_data
def test_the_background_of_every_kt3dmoseg_clip_is_the_widest_motion():
    pairs = list(read_kt3dmoseg(DATA / 'kt3dmoseg'))
    assert len({p.group for p in pairs}) == 11
    assert len(pairs) == 159
    for pair in pairs:
        areas = [np.prod(pair.x1[pair.truth == k].std(axis=0)) for k in np.unique(pair.truth)]
        assert int(np.argmax(areas)) == pair.background


def test_only_numbers_and_single_structs_of_them_are_read(tmp_path):
    path = tmp_path / 'many.mat'
    inner = {'a': np.arange(6).reshape(2, 3), 'text': 'abc', 'deep': {'b': 1.0}}
    for compressed in (False, True):
        savemat(path, {'s': inner, 'n': np.float32([[1.5]]), 'text': 'abc', 'e': np.zeros((0, 3)),
                       'c': np.array([[1 + 2j]]), 'cell': np.array([{}, 'a'], object)},
                do_compression=compressed)
        contents = read_mat(path)
        assert contents['text'] is contents['c'] is contents['cell'] is None
        assert contents['s']['text'] is contents['s']['deep'] is None
        np.testing.assert_array_equal(contents['s']['a'], inner['a'])
        assert contents['n'].dtype == np.float32 and contents['e'].shape == (0, 3)


@pytest.mark.parametrize('value', [np.nan, np.inf, 'wide'])
def test_a_width_that_is_not_a_number_is_refused_with_one_sentence(tmp_path, value):
    write_hopkins(tmp_path / 'cars1_truth.mat', width=value)
    with pytest.raises(InputError, match='width'):
        list(read_hopkins155(tmp_path))


def test_a_variable_that_expands_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(matfile, 'LARGEST_VARIABLE', 1000)
    savemat(tmp_path / 'bomb.mat', {'zeros': np.zeros(1000)}, do_compression=True)
    with pytest.raises(InputError, match='expands to more than 1000 bytes'):
        read_mat(tmp_path / 'bomb.mat')
