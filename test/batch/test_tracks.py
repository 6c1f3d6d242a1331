# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files of tracks are lossless."""

from dataclasses import fields

import numpy as np
import pytest
from small_jobs import small_job

from gdm_motion_seg.batch.store import Store
from gdm_motion_seg.batch.tracks import ARRAYS, read_tracks, TracksFile
from gdm_motion_seg.geometry.camera import Camera
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.pipeline import MotionPipeline

CAMERA = Camera.from_info([100.1, 0, 80.3, 0, 99.7, 60.2, 0, 0, 1], [0.1, -0.2, 1e-17, 0, 0],
                          'plumb_bob', (160, 120))


@pytest.fixture(scope='module')
def tracked(tiny_bags):
    """Return frames with their tracks; the first ones have no pair."""
    pipeline = MotionPipeline(small_job('out').config)
    with open_source(tiny_bags / 'bag0') as source:
        return [(frame, pipeline.track(frame.image, frame.stamp), camera)
                for frame, camera in zip(source, (None, CAMERA) * 5)]


def test_tracks_are_read_exactly_as_they_were_written(tmp_path, tracked):
    store = Store(str(tmp_path))
    with TracksFile(store, 'file') as file:
        for item in tracked:
            file.write(*item)
    moments = list(read_tracks(store, 'file'))
    assert any(moment.tracked.gap for moment in moments) and len(moments) == len(tracked)
    for moment, (frame, expected, camera) in zip(moments, tracked):
        assert (moment.at, moment.size) == (frame.at, frame.size)
        same(moment.tracked.window, expected.window)
        for name in (field.name for field in fields(expected) if field.name != 'window'):
            assert getattr(moment.tracked, name) == getattr(expected, name)
        assert (moment.camera is None) == (camera is None)
        if camera is not None:
            same(moment.camera, camera)


def same(one, other):
    """Compare two values of a class field by field, arrays with their type and layout."""
    for field in fields(other):
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(theirs, np.ndarray):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            assert ours.flags.writeable and ours.flags.c_contiguous == theirs.flags.c_contiguous
        np.testing.assert_array_equal(ours, theirs)


def test_the_size_on_disk_is_less_than_that_of_the_arrays(tmp_path, tracked):
    with TracksFile(Store(str(tmp_path)), 'file') as file:
        for _ in range(10):
            file.write(*tracked[-1])
    window = tracked[-1][1].window
    arrays = sum(getattr(window, name).nbytes for name in ARRAYS)
    assert 0.5 * 10 * arrays < (tmp_path / 'file').stat().st_size < 0.9 * 10 * arrays


def test_reading_begins_at_a_time(tmp_path, tracked):
    store = Store(str(tmp_path))
    with TracksFile(store, 'file') as file:
        for item in tracked:
            file.write(*item)
    start = tracked[4][0].at
    assert [m.at for m in read_tracks(store, 'file', start)] == [f.at for f, _, _ in tracked[4:]]


def test_an_unfinished_file_does_not_exist(tmp_path, tracked):
    with pytest.raises(RuntimeError, match='stop'):
        with TracksFile(Store(str(tmp_path)), 'file') as file:
            file.write(*tracked[0])
            raise RuntimeError('stop')
    assert list(tmp_path.iterdir()) == []
