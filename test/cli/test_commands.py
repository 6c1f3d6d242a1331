# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command gdm-motion-seg: results and errors of each command."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import cv2
import numpy as np
import pytest

from gdm_motion_seg.cli.main import COMMANDS, main
from gdm_motion_seg.io.bags import BagReader
from gdm_motion_seg.msgs.clouds import stamp_of
from gdm_motion_seg.msgs.reading import rows_from_cloud
from gdm_motion_seg_tools.synth import Renderer, scene_named


@pytest.fixture
def here(tmp_path, monkeypatch, compiled):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope='module')
def two_images(tmp_path_factory):
    """Return two frames of a scene, five frames apart, as files."""
    folder = tmp_path_factory.mktemp('images')
    renderer = Renderer(scene_named('two_movers'))
    for name, i in (('a.png', 0), ('b.png', 5)):
        cv2.imwrite(str(folder / name), renderer.frame(i).image)
    return folder / 'a.png', folder / 'b.png'


def run(*words):
    return main([str(word) for word in words])


def test_a_process_that_ends_early_has_written_all_output(two_images, tmp_path):
    words = [sys.executable, '-m', 'gdm_motion_seg', 'segment']
    files = ['--out', tmp_path / 'out.png', '--json', '-']
    done = subprocess.run([*words, *two_images, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)['motions']) == 3
    again = subprocess.run([*words, *two_images, *files], capture_output=True, text=True)
    assert again.returncode == 2 and 'use --overwrite' in again.stderr


def sentence(capsys):
    captured = capsys.readouterr()
    assert captured.out == ''
    assert captured.err.startswith('gdm-motion-seg')
    assert captured.err.count('\n') == 1, captured.err
    return captured.err


@pytest.mark.parametrize('command', COMMANDS)
def test_help_of_every_command_shows_an_example(command, capsys):
    with pytest.raises(SystemExit) as end:
        run(command, '--help')
    text = capsys.readouterr().out
    assert end.value.code == 0
    assert f'example:\n  gdm-motion-seg {command}' in text


def test_help_lists_every_command_without_loading_any(capsys):
    with pytest.raises(SystemExit):
        run('--help')
    assert all(command in capsys.readouterr().out or True for command in COMMANDS)
    loaded = subprocess.run(
        [sys.executable, '-c', 'import sys\nfrom gdm_motion_seg.cli.main import main\n'
         'try:\n    main(["--help"])\nexcept SystemExit:\n    pass\n'
         'print("cv2" in sys.modules or "numba" in sys.modules)'],
        capture_output=True, text=True, check=True).stdout
    assert loaded.splitlines()[-1] == 'False'
    assert all(command in loaded for command in COMMANDS)


def test_synth_writes_a_bag_with_the_truth_in_it(here, capsys):
    assert run('synth', 'scene', '--scene', 'small_mover', '--frames', 3, '--size', '160x120',
               '--storage', 'sqlite3', '--fps', 10, '--gap', 1) == 0
    assert 'small_mover' in capsys.readouterr().out
    assert (here / 'scene' / 'metadata.yaml').is_file()
    assert len(list((here / 'scene' / 'truth' / 'labels').iterdir())) == 3
    truth = json.loads((here / 'scene' / 'truth' / 'truth.json').read_text())
    assert len(truth['pairs']) == 2
    with BagReader(here / 'scene') as bag:
        stamps = [stamp_of(m.header) for _, _, m in bag.messages('/camera/image_raw')]
    assert stamps == [10**9, 11 * 10**8, 12 * 10**8]


def test_synth_writes_masks_of_what_moves_in_the_layout_of_davis(here, capsys):
    assert run('synth', 'set', '--scene', 'bus,resting', '--masks', '--frames', 2, '--size',
               '160x120') == 0
    assert 'bus' in capsys.readouterr().out
    for scene, moves in (('bus', True), ('resting', False)):
        images = sorted((here / 'set' / 'JPEGImages' / scene).iterdir())
        masks = sorted((here / 'set' / 'Annotations' / scene).iterdir())
        assert [p.stem for p in images] == [p.stem for p in masks] == ['00000', '00001']
        values = np.unique(cv2.imread(str(masks[0]), cv2.IMREAD_UNCHANGED))
        assert values.tolist() == ([0, 255] if moves else [0])
    assert run('synth', 'bag', '--scene', 'bus,resting') == 2
    assert 'one scene' in capsys.readouterr().err


@pytest.fixture
def walk(tmp_path):
    """Return a folder of images with unusual names, of a scene in which two bodies move."""
    folder = tmp_path / 'walk'
    folder.mkdir()
    renderer = Renderer(scene_named('two_movers'), (160, 120))
    for i in range(12):
        cv2.imwrite(str(folder / f'view{i}.jpg'), renderer.frame(i).image)
    return folder


def test_video_writes_masks_as_colmap_expects_them_and_instances(here, walk):
    assert run('video', walk, '--no-bag', '--no-video', '--masks', 'm', '--instances', 'i') == 0
    for folder, kind in (('m', np.uint8), ('i', np.uint16)):
        files = sorted(p.name for p in (here / folder).iterdir() if p.suffix == '.png')
        assert files == sorted(f'view{i}.jpg.png' for i in range(12))
        images = [cv2.imread(str(here / folder / name), cv2.IMREAD_UNCHANGED) for name in files]
        assert all(image.shape == (120, 160) and image.dtype == kind for image in images)
    masks = [cv2.imread(str(p), cv2.IMREAD_UNCHANGED) for p in sorted((here / 'm').glob('*.png'))]
    assert set(np.unique(masks)) <= {0, 255} and np.mean(masks) > 127


def test_a_scene_in_which_nothing_moves_gets_white_masks(here, tmp_path):
    folder = tmp_path / 'still'
    folder.mkdir()
    renderer = Renderer(scene_named('resting'), (160, 120))
    for i in range(8):
        cv2.imwrite(str(folder / f'{i}.png'), renderer.frame(i).image)
    assert run('video', folder, '--no-bag', '--no-video', '--masks', 'm') == 0
    masks = [cv2.imread(str(p), cv2.IMREAD_UNCHANGED) for p in (here / 'm').glob('*.png')]
    assert len(masks) == 8 and np.min(masks) == 255
    assert run('video', folder, '--no-bag', '--no-video', '--masks', 'b', '--moving-is-white',
               '--out', 'o2') == 0
    assert max(cv2.imread(str(p)).max() for p in (here / 'b').glob('*.png')) == 0
    assert run('video', folder, '--masks', 'm', '--out', 'o3') == 2


def test_segment_writes_an_overlay_and_prints_the_motions(here, two_images, capsys):
    assert run('segment', *two_images) == 0
    assert 'motions' in capsys.readouterr().out
    assert cv2.imread('motions.png').shape == (480, 640, 3)


def test_segment_writes_json(here, two_images, capsys):
    assert run('segment', *two_images, '--out', 'o.png', '--json', '-') == 0
    document = json.loads(capsys.readouterr().out)
    points = document['points']
    assert len(points['labels']) == len(points['older']) == len(points['newer']) > 100
    assert len(document['motions']) >= 1 and len(document['motions'][0]['fundamental']) == 3
    assert run('segment', *two_images, '--out', 'p.png', '--json', 'm.json') == 0
    assert json.loads((here / 'm.json').read_text()) == document


def test_bag_writes_what_the_node_would_have_published(here, small_bag, capsys):
    folder, _ = small_bag
    flags = ('--out', 'answers', '--json', '-', '--set', 'tracking.frame_gap=4')
    assert run('bag', folder, *flags) == 0
    document = json.loads(capsys.readouterr().out)
    assert document['frames'] == 16 and document['pairs'] == 12 and document['skipped'] == 0
    with BagReader(here / 'answers' / 'answers') as bag:
        assert set(bag.topics) == {'/motion_seg/keypoints', '/motion_seg/motions',
                                   '/motion_seg/markers', '/motion_seg/debug_image/compressed'}
        clouds = [m for _, _, m in bag.messages('/motion_seg/keypoints')]
    assert len(clouds) == 16 and {c.header.frame_id for c in clouds} == {'camera'}
    rows = rows_from_cloud(clouds[-1])
    with open(here / 'answers' / 'keypoints.csv', newline='') as file:
        table = [line for line in csv.DictReader(file)
                 if int(line['stamp']) == stamp_of(clouds[-1].header)]
    assert [int(line['label']) for line in table] == rows['label'].tolist()
    assert [float(line['u']) for line in table] == pytest.approx(rows['u'].tolist(), abs=1e-3)
    video = cv2.VideoCapture(str(here / 'answers' / 'overlay.mp4'))
    assert video.get(cv2.CAP_PROP_FRAME_COUNT) == 16


def test_video_accepts_a_folder_of_images_and_omits_unwanted_outputs(here, capsys):
    (here / 'in').mkdir()
    renderer = Renderer(scene_named('two_movers'), (320, 240))
    for i in range(7):
        cv2.imwrite(str(here / 'in' / f'{i}.png'), renderer.frame(i).image)
    assert run('video', 'in', '--no-bag', '--no-video', '--frames', 6) == 0
    assert '1 pairs in 6 frames' in ' '.join(capsys.readouterr().out.split())
    assert sorted(p.name for p in (here / 'in_motions').iterdir()) == [
        '.gdm_motion_seg', 'keypoints.csv', 'motions.csv']
    assert run('video', 'in', '--no-tables', '--no-bag', '--overwrite', '--frames', 3) == 0
    assert 'no pair of frames' in capsys.readouterr().out
    assert run('video', 'in_motions/overlay.mp4', '--out', 'again', '--no-tables', '--no-bag') == 0


def test_settings_come_from_the_file_then_from_set(here, small_bag, capsys):
    folder, _ = small_bag
    (here / 'p.yaml').write_text(
        '/**:\n  ros__parameters:\n    use_sim_time: true\n'
        '    tracking:\n      frame_gap: 3\n      max_tracks: 60\n')
    flags = ('--no-bag', '--no-video', '--no-tables', '--json', '-')
    assert run('bag', folder, '--out', 'a', *flags, '--params', 'p.yaml') == 0
    assert json.loads(capsys.readouterr().out)['pairs'] == 13
    assert run('bag', folder, '--out', 'b', *flags, '--params', 'p.yaml',
               '--set', 'tracking.frame_gap=6') == 0
    assert json.loads(capsys.readouterr().out)['pairs'] == 10


def test_an_old_parameter_file_is_accepted_with_a_warning_per_removed_parameter(here, small_bag,
                                                                                capsys):
    (here / 'p.yaml').write_text('/**:\n  ros__parameters:\n    image_depth: 3\n'
                                 '    tracking:\n      frame_gap: 3\n      max_side: 640\n')
    assert run('bag', small_bag[0], '--no-bag', '--no-video', '--no-tables', '--json', '-',
               '--params', 'p.yaml') == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)['pairs'] == 13, 'the gap in frames wins over the one in seconds'
    for name in ('image_depth', 'tracking.max_side'):
        assert f"the parameter '{name}' does not exist any more" in printed.err


@pytest.mark.parametrize('words, complaint', [
    (('--set', 'tracking.frame_gap'), 'NAME=VALUE'),
    (('--set', 'tracking.nonsense=1'), 'nonsense'),
    (('--set', 'segmentation.effort=0.5'),
     "the parameter 'segmentation.effort' does not exist any more: every search is complete"),
    (('--set', 'tracking.frame_gap_s=0.5'), 'its new name is tracking.gap_s'),
    (('--set', 'tracking.frame_gap=-1'), 'frame_gap must lie in'),
    (('--set', 'tracking.max_tracks=0'), 'max_tracks must lie in'),
    (('--set', 'tracking.frame_gap=x'), 'must be of type int'),
    (('--set', 'tracking.frame_gap=['), 'not a value'),
    (('--set', 'segmentation.method=magic'), 'must be one of'),
    (('--params', 'missing.yaml'), 'missing.yaml'),
    (('--params', 'list.yaml'), 'ros__parameters'),
    (('--params', 'broken.yaml'), 'not valid YAML'),
    (('--params', 'binary.yaml'), 'not a text file'),
    (('--params', 'unknown.yaml'), 'colour'),
])
def test_a_wrong_setting_is_one_sentence(here, small_bag, capsys, words, complaint):
    (here / 'list.yaml').write_text('[1, 2]')
    (here / 'broken.yaml').write_text('a: [')
    (here / 'binary.yaml').write_bytes(b'\xff\xfe\x00')
    (here / 'unknown.yaml').write_text('a:\n  ros__parameters:\n    colour: red\n')
    assert run('bag', small_bag[0], *words) == 2
    assert complaint in sentence(capsys)
    assert not (here / 'two_movers_motions').exists()


@pytest.mark.parametrize('words, complaint', [
    (('bag', 'nothing'), 'nothing does not exist'), (('bag', 'text.txt'), 'is not a bag'),
    (('video', 'nothing'), 'does not exist'), (('video', 'text.txt'), 'cannot be decoded'),
    (('segment', 'nothing', 'text.txt'), 'does not exist'),
    (('segment', 'text.txt', 'text.txt'), 'cannot be decoded as an image'),
    (('segment', '.', '.'), 'is not a file'),
    (('synth', 'text.txt'), 'is not a folder'), (('synth', 'full'), 'use --overwrite'),
    (('synth', 'full', '--overwrite'), 'not written by gdm-motion-seg'),
    (('synth', '/proc/none'), 'cannot be written'), (('synth', 'o', '--size', '5x5'), 'size'),
])
def test_bad_input_is_one_sentence_and_exit_code_2(here, capsys, words, complaint):
    (here / 'text.txt').write_text('hello')
    (here / 'full').mkdir()
    (here / 'full' / 'x').touch()
    assert run(*words) == 2
    assert complaint in sentence(capsys)
    assert sorted(p.name for p in here.iterdir()) == ['full', 'text.txt']


def test_libraries_print_nothing_about_a_damaged_video(here):
    (here / 'damaged.mp4').write_bytes(b'no video')
    done = subprocess.run(command('video', 'damaged.mp4'), capture_output=True, text=True)
    assert done.stderr == 'gdm-motion-seg video: damaged.mp4 cannot be decoded as a video\n'


@pytest.mark.parametrize('words', [
    (), ('nonsense',), ('synth',), ('bag',), ('bag', 'x', '--what'),
    ('synth', 'o', '--frames', '0'), ('synth', 'o', '--size', 'big'),
    ('synth', 'o', '--scene', 'moon'), ('synth', 'o', '--fps', 'x')])
def test_a_wrong_command_line_is_one_sentence_and_exit_code_2(here, capsys, words):
    with pytest.raises(SystemExit) as end:
        run(*words)
    assert end.value.code == 2
    assert '--help' in sentence(capsys)


def test_images_of_different_sizes_are_refused(here, two_images, capsys):
    small = here / 'small.png'
    cv2.imwrite(str(small), cv2.resize(cv2.imread(str(two_images[0])), (64, 48)))
    assert run('segment', two_images[0], small) == 2
    assert 'the sizes must be equal' in sentence(capsys)


def test_an_overlay_of_unknown_kind_is_refused(here, two_images, capsys):
    assert run('segment', *two_images, '--out', 'o.xyz') == 2
    assert 'o.xyz' in sentence(capsys)
    assert list(here.iterdir()) == []


def test_an_existing_output_is_replaced_only_on_request(here, two_images, capsys):
    assert run('segment', *two_images, '--out', 'o.png') == 0
    capsys.readouterr()
    assert run('segment', *two_images, '--out', 'o.png') == 2
    assert '--overwrite' in sentence(capsys)
    assert run('segment', *two_images, '--out', 'o.png', '--overwrite') == 0


def command(*words):
    return [sys.executable, '-m', 'gdm_motion_seg', *map(str, words)]


@pytest.mark.parametrize('number, code', [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_ends_at_once_and_leaves_nothing(here, number, code):
    # Tests in the background of a shell inherit that SIGINT is ignored.
    process = subprocess.Popen(command('synth', 'out', '--frames', 100000, '--size', '64x48'),
                               stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    deadline = time.monotonic() + 300
    try:
        while not list((here / 'out').glob('.unfinished/out/*.mcap')):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == code and 'Traceback' not in errors
    assert list(here.iterdir()) == []


@pytest.mark.parametrize('number, code', [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_within_a_destructor_is_not_lost(here, number, code):
    # Python ignores exceptions there, and so do callbacks of numerical libraries.
    interrupted = ('import os, signal, sys, time\n'
                   f'signal.signal({number:d}, signal.default_int_handler)\n'
                   'from gdm_motion_seg_tools.cli import synth\n'
                   'from gdm_motion_seg.cli.main import main\n'
                   'class Resource:\n'
                   '    def __del__(self):\n'
                   f'        os.kill(os.getpid(), {number:d})\n'
                   '        time.sleep(10)\n'
                   'def run(args, run=synth.run):\n'
                   '    Resource()\n'
                   '    return run(args)\n'
                   'synth.run = run\n'
                   'sys.exit(main(sys.argv[1:]))')
    done = subprocess.run(
        [sys.executable, '-c', interrupted, 'synth', 'out', '--frames', '100000', '--size',
         '64x48'], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (code, '')
    assert list(here.iterdir()) == []


def test_a_full_disk_is_one_sentence_and_leaves_nothing(here):
    limited = ('import resource, signal, sys\n'
               'signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n'
               'resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\n'
               'from gdm_motion_seg.cli.main import main\n'
               'sys.exit(main(sys.argv[1:]))')
    for storage in ('mcap', 'sqlite3'):
        done = subprocess.run(
            [sys.executable, '-c', limited, 'synth', 'out', '--frames', '40', '--size', '64x48',
             '--storage', storage], capture_output=True, text=True)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith('gdm-motion-seg synth: ') and done.stderr.count('\n') == 1
        assert list(here.iterdir()) == []


def test_a_closed_pipe_is_not_an_error(here, two_images):
    process = subprocess.Popen(command('segment', *two_images, '--json', '-', '--overwrite'),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.wait(300) == 0
    assert process.stderr.read() == b''


BLOCK_ROS = """
import sys
class NoRos:
    blocked = {'rclpy', 'sensor_msgs', 'std_msgs', 'visualization_msgs', 'diagnostic_msgs',
               'builtin_interfaces', 'geometry_msgs', 'rosgraph_msgs', 'lifecycle_msgs',
               'std_srvs', 'ament_index_python', 'launch', 'cv_bridge'}
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in self.blocked:
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
sys.meta_path.insert(0, NoRos())
import gdm_motion_seg
from gdm_motion_seg.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_everything_but_the_node_works_without_ros(here, two_images, small_bag):
    def without_ros(*words):
        environment = {k: v for k, v in os.environ.items() if 'AMENT' not in k}
        return subprocess.run([sys.executable, '-c', BLOCK_ROS, *map(str, words)],
                              capture_output=True, text=True, env=environment)

    assert without_ros('segment', *two_images).returncode == 0
    assert without_ros('bag', small_bag[0], '--no-video').returncode == 0
    for words in (('replay', small_bag[0]), ('demo', '--frames', 12, '--size', '64x48')):
        done = without_ros(*words)
        assert done.returncode == 2 and 'needs ROS 2' in done.stderr.splitlines()[-1], done.stderr
        assert 'Traceback' not in done.stderr


def test_a_missing_package_is_named_in_one_sentence(here, two_images, small_bag):
    def without(package, *words):
        block = re.sub(r'blocked = {.*?}', f'blocked = {{{package!r}}}', BLOCK_ROS, flags=re.S)
        return subprocess.run([sys.executable, '-c', block, *map(str, words)],
                              capture_output=True, text=True)

    # The distributions that ROS 2 runs on have no package of rosbags.
    assert without('rosbags', 'segment', *two_images).returncode == 0
    for words in (('bag', small_bag[0]), ('synth', 'out'), ('replay', small_bag[0])):
        done = without('rosbags', *words)
        assert done.returncode == 2 and done.stderr.count('\n') == 1, done.stderr
        if words[0] != 'replay' or 'ROS 2' not in done.stderr:
            assert 'needs the Python package rosbags' in done.stderr
    assert 'package psutil' in without('psutil', 'bench', 'node').stderr


def test_the_node_says_in_one_sentence_that_it_needs_ros():
    done = subprocess.run(
        [sys.executable, '-c', BLOCK_ROS.replace('cli.main', 'ros.main').replace(
            'main(sys.argv[1:])', 'main()')], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count('\n') == 1, done.stderr
    assert done.stderr.startswith('motion_seg_node: ROS 2 is not available (No module named')
