# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Stretches of bags, videos and folders; the parts of a recording; keys of results."""

from dataclasses import replace
import math

import cv2
import numpy as np
import pytest
from small_jobs import small_job

from gdm_motion_seg.batch.job import Part
from gdm_motion_seg.batch.recordings import Recording
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.io.videos import VideoWriter

RECORDING = Recording('a', '/a', 1, 'f')


@pytest.fixture(scope='module')
def sources(tmp_path_factory, long_bag):
    """Return the same kind of frames as a bag, a video and a folder of images."""
    folder = tmp_path_factory.mktemp('sources')
    (folder / 'images').mkdir()
    writer = VideoWriter(folder / 'video.mp4', 30.0)
    rng = np.random.default_rng(0)
    base = cv2.GaussianBlur(rng.integers(0, 255, (64, 96, 3), np.uint8), (0, 0), 2)
    for i in range(60):
        writer.write(np.roll(base, 3 * i, axis=1))
        cv2.imwrite(str(folder / 'images' / f'{i}.png'), np.roll(base, 3 * i, axis=1))
    writer.close()
    return {'bag': long_bag, 'video': folder / 'video.mp4', 'folder': folder / 'images'}


@pytest.mark.parametrize('kind', ['bag', 'video', 'folder'])
def test_the_parts_of_a_source_together_are_the_whole_source(sources, kind):
    with open_source(sources[kind]) as source:
        whole, seconds = list(source), source.seconds
    seams = [0.0, round(seconds / 3, 3), round(2 * seconds / 3, 3), math.inf]
    parts = []
    for start, stop in zip(seams, seams[1:]):
        with open_source(sources[kind]) as source:
            source.select(start, stop)
            parts += list(source)
            assert all(start <= frame.at < stop for frame in parts[-1:])
    assert [frame.stamp for frame in parts] == [frame.stamp for frame in whole]
    assert all(np.array_equal(a.image, b.image) for a, b in zip(parts, whole))


@pytest.mark.parametrize('kind', ['bag', 'video', 'folder'])
def test_a_part_without_frames_is_empty_and_not_an_error(sources, kind):
    with open_source(sources[kind]) as source:
        source.select(1000.0)
        assert list(source) == []


def test_parts_cover_a_recording_without_gaps_and_begin_early():
    parts = small_job('out', split=10.0, overlap=2.0).parts(47.0, 30.0)
    assert [part.index for part in parts] == [0, 1, 2, 3, 4]
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert (parts[0].warm_up, parts[0].start, parts[-1].stop) == (0.0, 0.0, math.inf)
    assert all(part.start - part.warm_up == pytest.approx(2.0) for part in parts[1:])


def test_of_four_parts_or_more_the_first_and_the_last_are_half_as_long():
    parts = small_job('out', split=20.0, overlap=2.0).parts(210.0, 30.0)
    lengths = [part.length for part in parts]
    assert lengths == pytest.approx([11.667, *[23.333] * 8, 11.667], abs=2e-3)
    assert sum(lengths) == pytest.approx(210.0)
    three = small_job('out', split=20.0, overlap=2.0).parts(60.0, 30.0)
    assert [part.length for part in three] == pytest.approx([20.0] * 3)


def test_parts_are_equal_if_half_of_one_would_be_mostly_overlap():
    parts = small_job('out', split=4.0, overlap=2.0).parts(20.0, 30.0)
    assert [part.length for part in parts] == pytest.approx([4.0] * 5)


def test_a_slow_camera_gets_a_longer_overlap():
    part = small_job('out', split=60.0, overlap=2.0).parts(130.0, 2.0)[1]
    assert part.start - part.warm_up == pytest.approx(10.0)


@pytest.mark.parametrize('seconds', [None, 0.0, math.inf, 14.0])
def test_a_recording_that_is_short_or_of_unknown_length_is_not_divided(seconds):
    assert small_job('out', split=10.0).parts(seconds, 30.0) == [Part(0)]
    assert small_job('out', split=0.0).parts(1e5, 30.0) == [Part(0)]


def test_parts_that_are_mostly_overlap_are_refused():
    with pytest.raises(InputError, match='too short for an overlap'):
        small_job('out', split=3.0, overlap=2.0)


def test_the_key_of_a_result_changes_with_input_settings_and_code_only():
    job = small_job('out')
    same = [job, replace(job, out='elsewhere'), replace(job, run='later')]
    assert len({j.key(RECORDING) for j in same}) == 1
    other = [replace(job, settings=job.settings | {'seed': 1}), replace(job, code='x'),
             replace(job, topic='/b'), replace(job, split=90.0), replace(job, keypoints=False)]
    keys = {j.key(RECORDING) for j in (job, *other)}
    assert len(keys | {job.key(replace(RECORDING, fingerprint='other'))}) == 7


def test_the_key_follows_the_contents_of_the_mask(tmp_path):
    mask = tmp_path / 'mask.png'
    job = small_job('out')
    job = replace(job, settings=job.settings | {'tracking.mask_path': str(mask)})
    with pytest.raises(InputError, match='mask.png cannot be read'):
        job.key(RECORDING)
    keys = set()
    for content in (b'1', b'2'):
        mask.write_bytes(content)
        keys.add(job.key(RECORDING))
    assert len(keys) == 2
