# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parts of ``bench batch`` that decide its figures."""

import json

import numpy as np
import pyarrow as pa
import pytest
from small_jobs import small_job

from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg_tools.bench import batch as bench
from gdm_motion_seg_tools.synth.scene_bags import SceneOptions


def keypoints(labels, shift=0.0, frames=2):
    """Return a table of keypoints on a line, with the same labels in each frame."""
    count = len(labels)
    return pa.table({
        'stamp': np.repeat(np.arange(frames), count), 'track_id': np.arange(frames * count),
        'u': np.tile(np.arange(count) * 10.0 + shift, frames), 'v': np.zeros(frames * count),
        'label': np.tile(np.array(labels, np.int32), frames)})


def test_other_ids_for_the_same_bodies_agree():
    one, other = keypoints([0, 1, 1, 2, -1]), keypoints([0, 7, 7, 3, -1])
    share, matched = bench.label_agreement(one, other)
    assert (share, matched) == (1.0, 1.0)


def test_a_body_that_changes_its_id_is_wrong_after_the_change():
    one, other = keypoints([1, 1, 0, 0]), keypoints([5, 5, 0, 0])
    labels = pa.array([5, 5, 0, 0, 6, 6, 0, 0], pa.int32())
    other = other.set_column(other.column_names.index('label'), 'label', labels)
    assert bench.label_agreement(one, other)[0] == 6 / 8


def test_a_body_that_is_labelled_as_world_is_wrong():
    assert bench.label_agreement(keypoints([0, 1]), keypoints([0, 0]))[0] == 0.5
    assert bench.label_agreement(keypoints([0, 1]), keypoints([1, 0]))[0] == 0.0


def test_only_keypoints_at_the_same_place_are_compared():
    assert bench.label_agreement(keypoints([0, 1]), keypoints([1, 0], shift=3.0))[1] == 0.0
    assert bench.label_agreement(keypoints([0, 1]), keypoints([0, 1], shift=1.0)) == (1.0, 1.0)


def test_a_clip_is_played_forwards_and_backwards_without_a_jump(tmp_path):
    options = SceneOptions('small_mover', 4, (64, 48), compressed=True)
    bag = bench.write_clip(tmp_path / 'bag', options, 3)
    with open_source(bag) as source:
        frames = list(source)
    assert bench.frames_of(bag) == len(frames) == 12
    assert set(np.diff([frame.stamp for frame in frames])) == {round(1e9 / options.fps)}
    images = [frame.image for frame in frames]
    assert all(np.array_equal(a, b) for a, b in zip(images[:4], images[7:3:-1]))
    assert not np.array_equal(images[0], images[3])


@pytest.mark.parametrize('cores, hours', [
    (1, 1000.0 * 0.5), (10, 50.0), (60_000, 100.0 / 60.0 + 30.0 / 3600.0)])
def test_the_projection_is_limited_by_the_cores_and_then_by_the_scheduler(cores, hours):
    assert bench.projected_hours(1000.0, 60.0, 30.0, 0.1, cores) == pytest.approx(hours)


def test_an_unfinished_line_of_a_log_is_ignored(tmp_path):
    (tmp_path / 'runs').mkdir()
    (tmp_path / 'runs' / 'a.jsonl').write_text(json.dumps({'event': 'start'}) + '\n{"event": "e')
    assert bench.events(tmp_path) == [{'event': 'start'}]


@pytest.mark.parametrize('every', [1, 4, 8, 40])
def test_the_long_recordings_are_split_at_every_size(every):
    fps = SceneOptions().fps
    frames = bench.LONG_FRAMES * max(2, bench.LONG_REPEATS // every)
    split = max(bench.SHORTEST_PART_S, frames / fps / bench.LONG_PARTS)
    assert len(small_job('out', split=split).parts((frames - 1) / fps, fps)) >= 4
    frames = max(bench.FEWEST_SEAM_FRAMES, bench.SEAM_FRAMES // every)
    for parts in bench.SEAM_PARTS:
        job = small_job('out', split=frames / fps / parts)
        assert len(job.parts((frames - 1) / fps, fps)) == parts
