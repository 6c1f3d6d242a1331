# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tasks of a worker: tables, parts, joining, failures."""

from dataclasses import replace
import errno
import json

import cv2
import numpy as np
from pyarrow import parquet
import pytest
from small_jobs import SIZE, small_job

from gdm_motion_seg.batch import tasks
from gdm_motion_seg.batch.job import SEGMENTED_FRAMES
from gdm_motion_seg.batch.recordings import find_recordings
from gdm_motion_seg.batch.results import part_name, Summary
from gdm_motion_seg.batch.store import Store
from gdm_motion_seg.batch.tasks import (DONE, FAILED, FULL, join_parts, KEPT, OTHER_CODE,
                                        process_part, process_recording, SPLIT,
                                        track_recording)
from gdm_motion_seg.io.sources import open_source
from gdm_motion_seg.io.stream import answers
from gdm_motion_seg.pipeline import MotionPipeline
from gdm_motion_seg_tools.synth.scene_bags import SceneOptions, write_scene

KEY = 'key'


def recording_at(path):
    return find_recordings([str(path)])[0]


def table(out, name, recording):
    return parquet.ParquetFile(out / name / f'recording={recording}' / '0.parquet').read()


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob('*') if path.is_file())


@pytest.fixture(scope='module')
def whole(tmp_path_factory, long_bag):
    """Process the long bag in one piece."""
    out = tmp_path_factory.mktemp('whole')
    job = small_job(out, split=0.0)
    return out, process_recording(job, recording_at(long_bag), KEY)


@pytest.fixture(scope='module')
def joined(tmp_path_factory, long_bag):
    """Process the long bag in three parts and join them."""
    out = tmp_path_factory.mktemp('joined')
    job, recording = small_job(out, split=3.5, overlap=1.5), recording_at(long_bag)
    plan = process_recording(job, recording, KEY)
    assert plan.status == SPLIT and len(plan.parts) == 3
    for status in (DONE, KEPT):
        assert track_recording(job, recording, KEY, plan.parts).status == status
    # Workers do not finish the parts in the order of time.
    for before, part in reversed([*zip((None, *plan.parts), plan.parts)]):
        for status in (DONE, KEPT):
            assert process_part(job, recording, KEY, part, before).status == status
    return out, join_parts(job, recording, KEY, plan.parts)


def test_the_tables_contain_the_results_of_the_pipeline(tmp_path, tiny_bags):
    recording = recording_at(tiny_bags / 'bag0')
    job = small_job(tmp_path)
    outcome = process_recording(job, recording, KEY)
    with open_source(tiny_bags / 'bag0') as source:
        results = [result for _, result, _ in answers(source, MotionPipeline(job.config))]
    keypoints, frames = (table(tmp_path, name, 'bag0') for name in ('keypoints', 'frames'))
    assert outcome.status == DONE and outcome.summary.frames == len(results) == len(frames)
    assert frames['stamp'].to_pylist() == [result.stamp for result in results]
    assert np.array_equal(keypoints['label'], np.concatenate([r.labels for r in results]))
    assert np.array_equal(keypoints['track_id'],
                          np.concatenate([r.correspondences.ids for r in results]))
    motions = table(tmp_path, 'motions', 'bag0')
    assert motions['id'].to_pylist() == [m.id for r in results for m in r.motions]
    assert motions['count'].to_pylist() == [m.count for r in results for m in r.motions]
    assert motions['kind'].to_pylist() == [m.kind.value for r in results for m in r.motions]


def test_without_keypoints_the_other_tables_are_the_same(tmp_path, tiny_bags):
    for name, keypoints in (('with', True), ('without', False)):
        job = small_job(tmp_path / name, keypoints=keypoints)
        process_recording(job, recording_at(tiny_bags / 'bag0'), KEY)
    assert not (tmp_path / 'without' / 'keypoints').exists()
    assert table(tmp_path / 'with', 'motions', 'bag0').equals(
        table(tmp_path / 'without', 'motions', 'bag0'))


def test_a_finished_recording_is_kept_and_an_outdated_one_replaced(tmp_path, tiny_bags):
    recording, job = recording_at(tiny_bags / 'bag0'), small_job(tmp_path)
    assert process_recording(job, recording, KEY).status == DONE
    assert process_recording(job, recording, KEY).status == KEPT
    assert process_recording(job, recording, 'other').status == DONE
    marker = json.loads((tmp_path / 'recordings' / 'bag0.json').read_text())
    assert marker['key'] == 'other'


def test_an_outdated_result_does_not_survive_a_failure(tmp_path, tiny_bags):
    recording, job = recording_at(tiny_bags / 'bag0'), small_job(tmp_path)
    process_recording(job, recording, KEY)
    broken = replace(job, settings=job.settings | {'tracking.mask_path': str(tmp_path / 'none')})
    assert process_recording(broken, recording, 'other').status == FAILED
    assert files_below(tmp_path) == []


def test_joined_parts_have_every_frame_once_and_leave_no_parts(joined, whole):
    out, outcome = joined
    assert outcome.status == DONE and outcome.summary.parts == 3
    assert outcome.summary.frames == whole[1].summary.frames == 150
    assert table(out, 'frames', 'long')['stamp'].equals(
        table(whole[0], 'frames', 'long')['stamp'])
    assert not (out / 'parts').exists() or files_below(out / 'parts') == []
    for name in ('keypoints', 'motions'):
        stamps = table(out, name, 'long')['stamp'].to_numpy()
        assert (np.diff(stamps) >= 0).all()


def test_the_first_part_equals_the_undivided_run(joined, whole):
    ours, theirs = (table(out, 'keypoints', 'long').to_pandas() for out in (joined[0], whole[0]))
    before = ours['time'] < 3.3
    assert before.sum() > 1000
    assert ours[before].equals(theirs[theirs['time'] < 3.3])


def test_the_tracks_of_joined_parts_equal_those_of_an_undivided_run(joined, whole):
    ours, theirs = (table(out, 'keypoints', 'long') for out in (joined[0], whole[0]))
    names = ['stamp', 'track_id', 'u', 'v', 'u_prev', 'v_prev']
    assert ours.select(names).equals(theirs.select(names))


def test_nearly_all_labels_of_joined_parts_equal_those_of_an_undivided_run(joined, whole):
    from gdm_motion_seg_tools.bench.batch import label_agreement
    share, matched = label_agreement(*(table(out, 'keypoints', 'long')
                                       for out in (whole[0], joined[0])))
    assert matched == 1.0 and share > 0.99


def test_of_a_fast_camera_only_some_frames_of_the_overlap_are_segmented(tmp_path):
    bag = tmp_path / 'fast'
    write_scene(bag, SceneOptions('small_mover', 270, SIZE, fps=60.0))
    job, recording = small_job(tmp_path / 'out', split=2.2, overlap=1.1), recording_at(bag)
    parts = process_recording(job, recording, KEY).parts
    track_recording(job, recording, KEY, parts)
    outcome = process_part(job, recording, KEY, parts[1], parts[0])
    name = f'{part_name("fast", KEY, parts[1])}.overlap.parquet'
    stamps = np.unique(parquet.ParquetFile(tmp_path / 'out' / name).read()['stamp'])
    assert len(stamps) == pytest.approx(SEGMENTED_FRAMES, abs=3)
    assert np.ptp(stamps) / 1e9 == pytest.approx(1.1, abs=0.1)
    assert outcome.summary.first_stamp - stamps[-1] == pytest.approx(1e9 / 60.0, rel=0.01)


def test_only_tracks_that_a_part_still_needs_are_written_again(tmp_path, long_bag):
    job, recording = small_job(tmp_path, split=3.5, overlap=1.5), recording_at(long_bag)
    parts = process_recording(job, recording, KEY).parts
    track_recording(job, recording, KEY, parts)
    for before, part in zip((None, *parts), parts[:2]):
        process_part(job, recording, KEY, part, before)
    folder = tmp_path / 'parts' / 'long'
    for file in folder.glob('*.arrow'):
        file.unlink()
    assert track_recording(job, recording, KEY, parts).status == DONE
    assert [file.name.split('-')[1] for file in sorted(folder.glob('*.arrow'))] == ['0001', '0002']


def test_a_recording_whose_size_changes_is_refused_divided_or_not(tmp_path):
    (tmp_path / 'images').mkdir()
    for i in range(120):
        size = (48, 64) if i < 80 else (64, 64)
        cv2.imwrite(str(tmp_path / 'images' / f'{i:03d}.png'), np.zeros(size, np.uint8))
    recording = recording_at(tmp_path / 'images')
    job = small_job(tmp_path / 'out', split=2.0, overlap=1.0, fps=30.0)
    plan = process_recording(job, recording, KEY)
    outcome = track_recording(job, recording, KEY, plan.parts)
    assert plan.status == SPLIT and outcome.status == FAILED and 'mixes sizes' in outcome.reason


def test_the_summary_of_a_recording_survives_json(joined):
    summary = joined[1].summary
    assert Summary.from_json(summary.to_json()) == summary
    assert summary.seconds == pytest.approx(149 / 15.0, abs=0.01)


def test_a_damaged_bag_is_a_failure_with_a_reason(tmp_path, tiny_bags):
    whole_file = next((tiny_bags / 'bag0').glob('*.mcap')).read_bytes()
    (tmp_path / 'cut.mcap').write_bytes(whole_file[:len(whole_file) // 2])
    outcome = process_recording(small_job(tmp_path / 'out'), recording_at(tmp_path / 'cut.mcap'),
                                KEY)
    assert outcome.status == FAILED and 'cut.mcap' in outcome.reason


def test_a_full_disk_is_reported_and_leaves_no_partial_files(tmp_path, tiny_bags, monkeypatch):
    write = tasks.PartWriter.write

    def write_until_full(self, frame, result):
        if self.summary.frames == 5:
            raise OSError(errno.ENOSPC, 'No space left on device')
        write(self, frame, result)

    monkeypatch.setattr(tasks.PartWriter, 'write', write_until_full)
    outcome = process_recording(small_job(tmp_path), recording_at(tiny_bags / 'bag0'), KEY)
    assert outcome.status == FULL and 'No space' in outcome.reason
    assert files_below(tmp_path) == []


def test_a_worker_with_other_code_does_not_compute(tmp_path, tiny_bags):
    job = replace(small_job(tmp_path), code='0.0.1+other')
    outcome = process_recording(job, recording_at(tiny_bags / 'bag0'), KEY)
    assert outcome.status == OTHER_CODE and '0.0.1+other' in outcome.reason
    assert files_below(tmp_path) == []


def test_a_temporary_problem_is_raised_so_that_it_is_retried(tmp_path, tiny_bags, monkeypatch):
    def fail(*_):
        raise OSError(errno.EIO, 'Input/output error')

    monkeypatch.setattr(Store, 'exists', fail)
    monkeypatch.setattr(Store, 'read', fail)
    with pytest.raises(OSError, match='Input/output'):
        process_recording(small_job(tmp_path), recording_at(tiny_bags / 'bag0'), KEY)


def test_parts_without_any_image_are_refused_like_an_undivided_recording(long_bag):
    with pytest.raises(tasks.InputError, match='no image'):
        tasks._total(recording_at(long_bag), [Summary(), Summary()])
