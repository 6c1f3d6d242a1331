# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Wrong use of each command.

One sentence, exit code 2 (130 for Ctrl-C), no traceback, and no incomplete output. What
video and bag have computed until Ctrl-C is kept.
"""

from contextlib import contextmanager
import csv
import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import cv2
import numpy as np
import pytest

from gdm_motion_seg.cli.interruption import stopped_by_ctrl_c
from gdm_motion_seg.cli.main import main
from gdm_motion_seg.io.bags import BagReader, BagWriter
from gdm_motion_seg.io.output import UNFINISHED
from gdm_motion_seg.io.videos import VideoWriter
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import encode_image
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg.ros.process import dds_environment

SIZE = (96, 64)
FRAMES = 9


def pictures(n=FRAMES, size=SIZE):
    """Render images of a body that moves."""
    rng = np.random.default_rng(0)
    base = cv2.GaussianBlur(rng.integers(0, 255, (size[1], size[0], 3), np.uint8), (0, 0), 2)
    return [np.roll(base, 2 * i, axis=1) for i in range(n)]


def write_bag(folder, images):
    types = rosbags_types()
    with BagWriter(folder) as bag:
        for i, image in enumerate(images):
            stamp = 10**9 + i * 33_333_333
            bag.write('/image', encode_image(types, header_of(types, stamp, 'eye'), image), stamp)


def cut(file, share):
    file.write_bytes(file.read_bytes()[:int(share * file.stat().st_size)])


@pytest.fixture(scope='module')
def inputs(tmp_path_factory):
    """Return a folder with valid and invalid inputs."""
    folder, types = tmp_path_factory.mktemp('inputs'), rosbags_types()
    write_bag(folder / 'bag', pictures())
    shutil.copytree(folder / 'bag', folder / 'cut_bag')
    cut(folder / 'cut_bag' / 'bag.mcap', 0.6)
    write_bag(folder / 'mixed_bag', [*pictures(), *pictures(1, (64, 48))])
    with BagWriter(folder / 'blind_bag') as bag:
        bag.write('/colour', types.ColorRGBA(r=1.0, g=0.0, b=0.0, a=1.0), 1)
    video = VideoWriter(folder / 'clip.mp4', 30.0)
    for name in ('frames', 'mixed'):
        (folder / name).mkdir()
    for i, image in enumerate(pictures()):
        video.write(image)
        cv2.imwrite(str(folder / 'frames' / f'{i}.png'), image)
        cv2.imwrite(str(folder / 'mixed' / f'{i}.png'), image[:48, :64] if i == 7 else image)
    video.close()
    shutil.copy(folder / 'clip.mp4', folder / 'cut.mp4')
    cut(folder / 'cut.mp4', 0.4)
    (folder / 'noise.mp4').write_bytes(np.random.default_rng(0).bytes(5000))
    (folder / 'text.png').write_text('hello')
    # Compile now, not later while the disk is full.
    assert main(['segment', str(folder / 'frames/0.png'), str(folder / 'frames/5.png'),
                 '--out', str(folder / 'o.png')]) == 0
    return folder


@pytest.fixture
def here(inputs, tmp_path, monkeypatch, compiled):
    """Work in a folder that contains only the inputs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'in').symlink_to(inputs)
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def sentence(capsys, *words):
    """Run a command that must fail; returns its one sentence."""
    assert main([str(word) for word in words]) == 2
    printed = capsys.readouterr()
    assert printed.out == '' and printed.err.count('\n') == 1, printed.err
    assert printed.err.startswith(f'gdm-motion-seg {words[0]}: ')
    return printed.err


@pytest.mark.parametrize('words, complaint', [
    (('segment', 'in/none.png', 'in/frames/0.png'), 'none.png does not exist'),
    (('segment', 'in/frames/0.png', 'in/none.png'), 'none.png does not exist'),
    (('segment', 'in/text.png', 'in/text.png'), 'cannot be decoded as an image'),
    (('segment', 'in/clip.mp4', 'in/clip.mp4'), 'cannot be decoded as an image'),
    (('segment', 'in/mixed/6.png', 'in/mixed/7.png'), 'the sizes must be equal'),
    (('video', 'in/none.mp4'), 'none.mp4 does not exist'),
    (('video', 'in/noise.mp4'), 'noise.mp4 cannot be decoded as a video'),
    (('video', 'in/cut.mp4'), 'cut.mp4'),
    (('video', 'in/text.png'), 'single image'),
    (('video', 'in/mixed'), '7.png has 64 x 48'),
    (('video', 'in/blind_bag'), 'contains no images; its topics are /colour'),
    (('video', 'in/cut_bag'), 'truncated'),
    (('bag', 'in/none'), 'none does not exist'),
    (('bag', 'in/blind_bag'), 'contains no images; its topics are /colour'),
    (('bag', 'in/cut_bag'), 'truncated'),
    (('bag', 'in/mixed_bag'), f'message {FRAMES} of /image has 64 x 48'),
    (('bag', 'in/frames'), 'is not a bag; for videos and folders of images use "video"'),
    (('replay', 'in/none'), 'none does not exist'),
    (('replay', 'in/cut_bag'), 'truncated'),
    (('replay', 'in/frames'), 'is not a bag'),
], ids=lambda value: ' '.join(value) if isinstance(value, tuple) else '')
def test_an_input_that_cannot_be_used_is_one_sentence(here, capsys, monkeypatch, words, complaint):
    if words[0] == 'replay':
        pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
        for name, value in dds_environment().items():
            monkeypatch.setenv(name, value)
    assert complaint in sentence(capsys, *words)
    assert names(here) == ['in']


WRITERS = {
    'segment': ('segment', 'in/frames/0.png', 'in/frames/5.png', '--out'),
    'video': ('video', 'in/frames', '--out'),
    'bag': ('bag', 'in/bag', '--out'),
    'synth': ('synth', '--frames', '2', '--size', '64x48'),
}


@pytest.mark.parametrize('command', WRITERS)
def test_an_existing_output_is_not_changed(here, capsys, command):
    place = here / ('out.png' if command == 'segment' else 'out')
    if command == 'segment':
        place.write_text('mine')
    else:
        place.mkdir()
        (place / 'mine').touch()
    assert 'exists already; use --overwrite' in sentence(capsys, *WRITERS[command], place.name)
    if command == 'segment':
        assert place.read_text() == 'mine'
    else:
        assert 'not written by gdm-motion-seg' in sentence(
            capsys, *WRITERS[command], place.name, '--overwrite')
        assert names(place) == ['mine']
    assert names(here) == ['in', place.name]


@pytest.mark.parametrize('command', [c for c in WRITERS if c != 'synth'])
def test_an_existing_report_is_not_changed(here, capsys, command):
    (here / 'report.json').write_text('mine')
    words = (*WRITERS[command], 'out.png' if command == 'segment' else 'out')
    assert main([*words, '--json', 'report.json']) == 2
    assert 'report.json exists already; use --overwrite' in capsys.readouterr().err
    assert (here / 'report.json').read_text() == 'mine'


PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


def obey_permissions():
    """Remove root's right to write everywhere, for the program that is executed next."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


@pytest.mark.skipif(sys.platform != 'linux', reason='needs Linux')
def test_no_permission_to_write_is_one_sentence_for_every_command(here):
    (here / 'closed').mkdir(mode=0o500)
    several = ('import io, json, sys\n'
               'from contextlib import redirect_stderr\n'
               'from gdm_motion_seg.cli.main import main\n'
               'for words in json.loads(sys.argv[1]):\n'
               '    with redirect_stderr(io.StringIO()) as said:\n'
               '        code = main(words)\n'
               '    print(json.dumps([code, said.getvalue()]))\n')
    wanted = [[*words, f'closed/{"o.png" if command == "segment" else "out"}']
              for command, words in WRITERS.items()]
    done = subprocess.run([sys.executable, '-c', several, json.dumps(wanted)], check=True,
                          stdout=subprocess.PIPE, text=True, preexec_fn=obey_permissions)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(WRITERS)
    for code, said in answers:
        assert code == 2 and said.count('\n') == 1, said
        assert 'cannot be written: Permission denied' in said
    assert names(here / 'closed') == []


@contextmanager
def disk_with_room_for(size):
    """Limit the size of files of this process, which simulates a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


ONLY_BAG, ONLY_VIDEO = ('--no-video', '--no-tables'), ('--no-bag', '--no-tables')
ONLY_TABLES = ('--no-bag', '--no-video')


@pytest.mark.parametrize('words', [
    (*WRITERS['segment'], 'out.png'),
    *((*WRITERS[command], 'out', *flags) for command in ('video', 'bag') for flags in (
        ONLY_BAG, (*ONLY_BAG, '--storage', 'sqlite3'), ONLY_VIDEO, ONLY_TABLES)),
    (*WRITERS['synth'], 'out'),
    (*WRITERS['synth'], 'out', '--storage', 'sqlite3'),
], ids=lambda words: ' '.join((words[0], *words[5:])))
def test_a_full_disk_is_one_sentence_and_leaves_nothing(here, capsys, words):
    with disk_with_room_for(2000):
        said = sentence(capsys, *words)
    assert any(part in said for part in (
        'File too large', 'disk is full', 'is the disk full?', 'cannot be written')), said
    assert names(here) == ['in']


@contextmanager
def started(*words, **options):
    """Start a command in a new process, which handles signals as in a terminal."""
    process = subprocess.Popen(
        [sys.executable, '-m', 'gdm_motion_seg', *map(str, words)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler), **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def interrupted(process, begun, number=signal.SIGINT):
    """Send Ctrl-C when a condition is true; returns the exit code and the output."""
    deadline = time.monotonic() + 300
    while not begun():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    out, errors = process.communicate(timeout=300)
    # As a shell tells it: where the interruption hit a piece of code within exec(), Python ends
    # itself by the same signal in the end.
    code = 128 - process.returncode if process.returncode < 0 else process.returncode
    return code, out + errors


def begun(folder, rows=2000):
    """Whether a table of an unfinished folder holds rows that were written to the disk."""
    table = folder / UNFINISHED / folder.name / 'keypoints.csv'
    return lambda: table.exists() and table.stat().st_size > 60 * rows


def frames_in(path):
    """Return the numbers of the frames in a table."""
    with path.open(newline='', encoding='utf-8') as file:
        return {int(row['frame']) for row in csv.DictReader(file)}


@pytest.fixture
def long(here, inputs):
    """Return a folder of frames that takes minutes."""
    (here / 'long').mkdir()
    for i in range(20000):
        (here / 'long' / f'{i:05d}.png').symlink_to(inputs / 'frames' / f'{i % FRAMES}.png')


def test_ctrl_c_in_a_video_keeps_what_was_computed_so_far(here, long):
    flags = ('--masks', 'm', '--instances', 'i', '--json', 'o.json', '--html', 'o.html')
    pytest.importorskip('av', reason='--html needs PyAV')
    with started('video', 'long', '--out', 'out', *flags) as process:
        code, said = interrupted(process, begun(here / 'out'))
    document = json.loads((here / 'o.json').read_text())
    count = document['frames']
    assert code == 130 and document['interrupted'] is True and 5 < count < 20000
    assert f'stopped by Ctrl-C after {count} of 20000 frames' in ' '.join(said.split())
    assert names(here) == ['i', 'in', 'long', 'm', 'o.html', 'o.json', 'out']
    # Every file is complete, and all of them contain the same frames.
    for table in ('keypoints.csv', 'motions.csv'):
        assert count - 2 * FRAMES <= max(frames_in(here / 'out' / table)) < count
    video = cv2.VideoCapture(str(here / 'out' / 'overlay.mp4'))
    assert video.get(cv2.CAP_PROP_FRAME_COUNT) == count
    with BagReader(here / 'out' / 'answers') as bag:
        assert bag.count('/motion_seg/keypoints') == count
    for folder in ('m', 'i'):
        masks = sorted((here / folder).glob('*.png'))
        assert len(masks) == count and masks[-1].name == f'{count - 1:05d}.png.png'
        assert all(cv2.imread(str(mask), cv2.IMREAD_UNCHANGED) is not None for mask in masks)
    assert (here / 'o.html').read_text().rstrip().endswith('</html>')


def test_ctrl_c_in_a_bag_keeps_what_was_computed_so_far(here):
    write_bag(here / 'long', pictures() * 600)
    with started('bag', 'long', '--out', 'out', '--no-video', '--json', '-') as process:
        code, said = interrupted(process, begun(here / 'out'))
    document = json.loads(said[said.index('{'):said.rindex('}') + 1])
    assert code == 130 and document['interrupted'] and 'stopped by Ctrl-C' in said
    newest = max(frames_in(here / 'out' / 'keypoints.csv'))
    assert document['frames'] - 2 * FRAMES <= newest < document['frames']
    assert names(here) == ['in', 'long', 'out']


def test_a_second_ctrl_c_discards_everything():
    with pytest.raises(KeyboardInterrupt), stopped_by_ctrl_c() as stop:
        stop.worthwhile = True
        signal.raise_signal(signal.SIGINT)
        assert stop.wanted
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_before_the_first_frame_leaves_nothing():
    with pytest.raises(KeyboardInterrupt), stopped_by_ctrl_c():
        signal.raise_signal(signal.SIGINT)


def test_sigterm_in_a_video_leaves_nothing(here, long):
    with started('video', 'long', '--out', 'out') as process:
        assert interrupted(process, begun(here / 'out'), signal.SIGTERM) == (143, '')
    assert names(here) == ['in', 'long']


def test_ctrl_c_in_a_long_search_ends_segment_and_leaves_nothing(here):
    psutil = pytest.importorskip('psutil')
    endless = ('segmentation.method=gdm-paper', 'segmentation.n_motions=4',
               'segmentation.gdm.n1=1000', 'segmentation.gdm.n2=1000')
    words = [word for setting in endless for word in ('--set', setting)]
    with started(*WRITERS['segment'], 'out.png', *words) as process:
        def solving():
            # Loading takes less time than this.
            return psutil.Process(process.pid).cpu_times().user > 6

        code, errors = interrupted(process, solving)
    # The methods of the paper may be compiled first; the command says so.
    said = [line for line in errors.splitlines() if not line.startswith('compiling')]
    assert (code, said) == (130, [])
    assert names(here) == ['in']


def test_ctrl_c_ends_a_replay(here):
    pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
    from gdm_motion_seg_tools.ros.record import Recorder
    from gdm_motion_seg_tools.ros.session import Session
    with Session() as session:
        recorder = Recorder(session.node, {'/image': 'sensor_msgs/msg/Image'})
        with started('replay', 'in/bag', '--loop', '--reliable',
                     env={**os.environ, **dds_environment()}) as process:
            code, said = interrupted(process, lambda: recorder.records('/image'))
        recorder.close()
    # This is the usual end of a replay; launch would report any other exit code as a crash.
    assert code == 0 and 'messages of in/bag played' in said and 'Traceback' not in said
