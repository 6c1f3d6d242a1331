# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The demo: the node over DDS, a score and pictures."""

import json

import cv2
import numpy as np
import pytest

from gdm_motion_seg.cli.main import main
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.io.bags import BagReader, BagWriter
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg_tools.cli.demo_report import score_answers, write_pictures
from gdm_motion_seg_tools.synth import Truth
from gdm_motion_seg_tools.synth.scene_bags import SceneOptions, write_scene


@pytest.fixture(scope='module')
def demo_run(tmp_path_factory):
    """Process 45 frames of the demo's scene offline, at full size."""
    folder = tmp_path_factory.mktemp('demo')
    write_scene(folder / 'scene', SceneOptions('demo', 45))
    assert main(['bag', str(folder / 'scene'), '--out', str(folder / 'out'), '--no-tables',
                 '--no-video']) == 0
    return folder / 'out' / 'answers', Truth.load(folder / 'scene')


def test_at_least_97_percent_of_the_labels_of_the_demo_are_right(demo_run):
    score = score_answers(*demo_run)
    assert score.pairs >= 38 and score.true_motions == 4
    assert score.motions == 4
    assert score.share_right >= 0.97
    assert score.share_labelled >= 0.9


def test_the_video_has_a_picture_for_every_frame_also_without_a_result(demo_run, tmp_path):
    answers, truth = demo_run
    write_pictures(answers, truth, tmp_path / 'a.mp4', tmp_path / 'a.png', 30.0)
    video = cv2.VideoCapture(str(tmp_path / 'a.mp4'))
    assert video.get(cv2.CAP_PROP_FRAME_COUNT) == 45
    assert cv2.imread(str(tmp_path / 'a.png')).shape == (720, 1440, 3)
    with BagReader(answers) as full, BagWriter(tmp_path / 'thin') as thin:
        for i, (topic, kind, stamp, data) in enumerate(full.raw()):
            if (i // 4) % 5 == 0:
                thin.write_raw(topic, kind, stamp, data)
    write_pictures(tmp_path / 'thin', truth, tmp_path / 'b.mp4', tmp_path / 'b.png', 30.0)
    video = cv2.VideoCapture(str(tmp_path / 'b.mp4'))
    assert 35 <= video.get(cv2.CAP_PROP_FRAME_COUNT) <= 45


def test_a_bag_without_overlays_is_an_error(small_bag, tmp_path):
    types = rosbags_types()
    with BagWriter(tmp_path / 'bag') as bag:
        message = types.CompressedImage(header=header_of(types, 1, ''), format='jpeg',
                                        data=np.zeros(1, np.uint8))
        bag.write('/something/else', message, 1)
    with pytest.raises(InputError, match='no overlay'):
        write_pictures(tmp_path / 'bag', small_bag[1], tmp_path / 'a.mp4', tmp_path / 'a.png',
                       30.0)


def test_the_demo_runs_the_node_and_writes_all_files(tmp_path, capsys):
    pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
    out = tmp_path / 'demo'
    words = ['demo', '--out', str(out), '--scene', 'two_movers', '--frames', '40',
             '--size', '320x240']
    assert main(words) == 0
    printed = capsys.readouterr()
    assert all(f'{n}/3' in printed.err for n in (1, 2, 3))
    assert 'labels right' in printed.out and 'latency' in printed.out
    summary = json.loads((out / 'summary.json').read_text())
    assert summary['images_sent'] == 40
    assert summary['images_answered'] + summary['images_dropped'] == 40
    assert summary['images_answered'] > 0 and summary['latency_ms']['p50'] > 0
    with BagReader(out / 'answers') as bag:
        assert '/motion_seg/keypoints' in bag.topics and '/diagnostics' in bag.topics
    with BagReader(out / 'scene') as bag:
        assert bag.count('/camera/image_raw') == 40
    assert cv2.imread(str(out / 'contact_sheet.png')) is not None
    assert cv2.VideoCapture(str(out / 'motions.mp4')).read()[0]
    assert main(words) == 2
    assert '--overwrite' in capsys.readouterr().err
