# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Every command in the README and the docs is run, or listed here with the reason why not.

A command that would take minutes is run with a smaller input: SMALLER says how.
"""

from contextlib import suppress
from functools import partial
import os
from pathlib import Path
import re
import shlex
import shutil
import signal
import subprocess
import sys

import cv2
import numpy as np
import pytest
from scipy.io import savemat

from gdm_motion_seg.cli.main import COMMANDS, main
from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.io.videos import VideoWriter
from gdm_motion_seg.msgs.clouds import cloud_from_rows, header_of
from gdm_motion_seg.msgs.results import KEYPOINT
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg.ros.process import dds_environment, NodeProcess
from gdm_motion_seg_tools.bench import engine, latency, node, soak
from gdm_motion_seg_tools.datasets.synthetic import make_scene, Scene
from gdm_motion_seg_tools.synth import Renderer, scene_named
from gdm_motion_seg_tools.synth.scene_bags import SceneOptions

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob('*.md'), *(ROOT / 'docs').glob('*.md')])
FENCE = re.compile(r'^```(\w*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SPAN = re.compile(r'`([^`\n]+)`')
SHELL = ('console', 'bash', 'sh')
COMMAND = re.compile(r'(\.venv/bin/)?(gdm-motion-seg|make|ros2|colcon|rosdep|pip|python3?|export|'
                     r'source|pre-commit|motion_seg_node) ')

NOT_RUN = {
    'make venv': 'it needs the network, and "make test" has just run it',
    'pip install': 'it wants the network; "make venv" installs the same',
    'pre-commit install': 'it wants the network, and changes the git configuration',
    'docker': 'it wants Docker and the network',
    'git clone': 'it wants a place to clone from',
    'rosdep install': 'it wants ROS 2 with rosdep, and the network',
    'cd ~/ros2_ws': 'the home of whoever runs the tests is not ours; "colcon build" is run in '
                    'another folder',
    'gdm-motion-seg view 0': 'it wants a webcam; test/io has one that is not real',
    'gdm-motion-seg view ros:/motion_seg': 'it runs until Ctrl-C; test/ros has a test with a node',
    'gdm-motion-seg query': 'it wants a data set of "batch"; test/batch/test_query.py makes one',
    'gdm-motion-seg bench footage': 'it wants the images of the data sets, and takes many minutes',
    'gdm-motion-seg bench batch': 'it takes a quarter of an hour; test/batch measures its parts',
    'gdm-motion-seg bench startup': 'it compiles everything twice; test/bench/test_startup.py '
                                    'tests its parts',
    'gdm-motion-seg bench davis': 'it wants sequences with masks; test/bench/test_davis.py makes '
                                  'some',
    'gdm-motion-seg bench sfm': 'it takes minutes for each scene; test/bench/test_davis.py tests '
                                'its parts',
    'ros2 run gdm_motion_seg gdm-motion-seg': 'it wants a command; the same commands are run '
                                              'without a workspace',
    'motion_seg_node --ros-args …': 'it has an ellipsis; test/ros starts the node in many ways',
}
"""Commands that are not run by a test, with the reason."""

TOOLS = {'ros2': 'ros2cli', 'colcon': 'colcon', 'source': 'colcon', 'export': 'ros2cli'}
"""Commands that come with a ROS 2 installation, and are run where there is one."""

ONE_RUN = ['--seeds', '1', '--jobs', '1']
FEW_METHODS = ['--methods', 'gdm,magsac']
SMALLER = {
    'make demo': ['DEMO_FLAGS=--scene two_movers --frames 20 --size 320x240'],
    'make test': ['TESTS=test/test_copyright.py', 'JOBS=1'],
    'make coverage': ['TESTS=test/test_copyright.py', 'JOBS=1', 'COVERAGE=0'],
    'make fuzz': ['FUZZ_INPUTS=20', 'JOBS=1'],
    'python -m pytest test/synth': ['-k', 'truth'],
    'gdm-motion-seg synth': ['--frames', '6'],
    'gdm-motion-seg view': ['--end', '--frames', '2', '--port', '0', '--no-browser'],
    'gdm-motion-seg demo': ['--scene', 'two_movers', '--frames', '20', '--size', '320x240'],
    'gdm-motion-seg bench hopkins155': [*ONE_RUN, *FEW_METHODS],
    'gdm-motion-seg bench adelaide': [*ONE_RUN, *FEW_METHODS],
    'gdm-motion-seg bench kt3dmoseg': [*ONE_RUN, *FEW_METHODS],
    'gdm-motion-seg bench synthetic': [*ONE_RUN, *FEW_METHODS, '--pairs', 'motions=2/0'],
    'gdm-motion-seg bench paper': [*ONE_RUN, '--methods', 'gdm-paper,gdm-model-reassign,ref'],
    'gdm-motion-seg bench engine': ['--seeds', '1'],
    'gdm-motion-seg bench soak': ['--minutes', '0.1'],
}
"""What is added to a command so that it takes seconds; the last of two equal flags counts."""


def commands():
    """Yield every command of a shell block, with continued lines joined, and of running text."""
    for page in PAGES:
        text = page.read_text(encoding='utf-8')
        for language, block in FENCE.findall(text):
            for line in block.replace('\\\n', ' ').splitlines():
                line = line.partition(' # ')[0].strip().removeprefix('$ ')
                if not line or line.startswith('#'):
                    continue
                if language in SHELL or (not language and COMMAND.match(line + ' ')):
                    yield ' '.join(line.removeprefix('.venv/bin/').split())
        for span in SPAN.findall(FENCE.sub('', text)):
            if COMMAND.match(span):
                yield span.removeprefix('.venv/bin/')


def python_blocks():
    for page in PAGES:
        for language, block in FENCE.findall(page.read_text(encoding='utf-8')):
            if language == 'python':
                yield pytest.param(block, id=page.name)


def longest_start(command, table):
    """Return the entry of a table for the longest prefix of a command that it contains."""
    known = [start for start in table if f'{command} '.startswith(f'{start} ')]
    return table[max(known, key=len)] if known else None


@pytest.fixture(scope='module')
def desk(tmp_path_factory, small_bag):
    """Return a folder with all files that the examples name."""
    folder = tmp_path_factory.mktemp('desk')
    shutil.copytree(small_bag[0], folder / 'recording')
    renderer = Renderer(scene_named('two_movers'), (320, 240))
    video = VideoWriter(folder / 'drive.mp4', 30.0)
    (folder / 'frames').mkdir()
    for i in range(10):
        image = renderer.frame(i).image
        video.write(image)
        cv2.imwrite(str(folder / 'frames' / f'{i}.png'), image)
    video.close()
    for name, i in (('first', 0), ('second', 5)):
        cv2.imwrite(str(folder / f'{name}.png'), renderer.frame(i).image)
    write_data_sets(folder / 'DIR')
    return folder


def write_data_sets(folder):
    """Write one small pair of each data set, in the format of the data set."""
    for name in ('hopkins155', 'adelaidermf_f', 'kt3dmoseg/frames/Seq000_Clip01'):
        (folder / name).mkdir(parents=True)
    pair = make_scene(Scene(n_points=120, n_motions=2, outliers=0.2), np.random.default_rng(0))
    width, height = pair.image_size
    ones = np.ones(len(pair.x1))
    first, last = (np.vstack([x.T, ones]) for x in (pair.x1, pair.x2))
    good = pair.truth >= 0
    savemat(folder / 'hopkins155' / 'cars1_truth.mat', {
        'y': np.stack([first, last], axis=2)[:, good], 's': pair.truth[good] + 1, 'width': width,
        'height': height})
    picture = np.zeros((height, width, 3), np.uint8)
    savemat(folder / 'adelaidermf_f' / 'cube.mat', {
        'data': np.vstack([first, last]), 'label': pair.truth + 1, 'img1': picture})
    savemat(folder / 'kt3dmoseg' / 'Seq000_Clip01.mat', {'Data': {
        'ySparse': np.stack([first, first, first, first, last], axis=2)[:, good],
        'visibleSparse': np.ones((int(good.sum()), 5), np.uint8),
        'GtLabel': pair.truth[good] + 1}})
    cv2.imwrite(str(folder / 'kt3dmoseg/frames/Seq000_Clip01/000001.png'), picture)


@pytest.fixture(scope='module')
def checkout(tmp_path_factory):
    """Return a writable checkout with the environment of this one."""
    folder = tmp_path_factory.mktemp('checkout')
    names = ('LICENSE', 'Makefile', 'README.md', 'setup.py', 'setup.cfg', 'pyproject.toml',
             'package.xml', 'mkdocs.yml', 'config', 'docs', 'launch', 'resource', 'test')
    for name in names:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    # Links, so that nothing is compiled and checked again.
    for name in ('gdm_motion_seg', 'tools', '.mypy_cache'):
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    (folder / '.venv').symlink_to(sys.prefix)
    return folder


def run_make(words, folder):
    if not (folder / '.venv' / '.ready').exists():
        pytest.skip('needs the environment that "make venv" makes')
    # It is ready; the times of its files do not matter.
    ready = ['-o', '.venv/.ready', '-o', '.venv/.compiled']
    subprocess.run([words[0], *ready, *words[1:]], cwd=folder, check=True)


def run_python(words, folder):
    before = {name: (folder / name).read_bytes()
              for name in ('README.md', 'config/motion_seg.yaml', 'docs/ros.md')}
    subprocess.run([sys.executable, *words[1:]], cwd=folder, check=True)
    # Functions that write files write what the files already contain.
    assert before == {name: (folder / name).read_bytes() for name in before}


def shorten_measurements(monkeypatch):
    """Shorten benchmarks that have no flag for it."""
    small = SceneOptions('small_mover', 40, (320, 240), 10.0)
    monkeypatch.setattr(node, 'OPTIONS', small)
    monkeypatch.setattr(node, 'LARGE', small)
    monkeypatch.setattr(soak, 'OPTIONS', {'raw': small})
    monkeypatch.setattr(latency, 'WARM_UP_FRAMES', 3)
    monkeypatch.setattr(latency, 'FRAMES', 12)
    monkeypatch.setattr(latency, 'GROWTH_FRAMES', 9)
    monkeypatch.setattr(latency, 'measure', partial(latency.measure, size=(320, 240),
                                                    large=(400, 300)))
    monkeypatch.setattr(engine, 'measure', partial(engine.measure, n_points=30, n_many=60,
                                                   n_restarts=2))


PACKAGES = {'docs': ['mkdocs', 'material', 'mkdocstrings'],
            'completion': ['shtab'], 'demo': ['rclpy', 'av'], 'view': ['tornado'],
            'view drive.mp4 --rerun': ['rerun'], 'batch': ['distributed', 'pyarrow'],
            'bench node': ['rclpy', 'psutil'], 'bench soak': ['rclpy', 'psutil'],
            'bench latency': ['poselib', 'matplotlib'], 'replay': ['rclpy'], '-m mypy': ['mypy'],
            'docs/images/make_collapsing_cloud.py': ['matplotlib']}
"""Optional packages that some commands need."""


def run_own(words, monkeypatch):
    if '--plots' in words:
        pytest.importorskip('matplotlib')
    shorten_measurements(monkeypatch)
    if len(words) == 2 or words[2] == 'NAME':
        words = [*words[:2], '--help']  # Only the name is mentioned, without arguments.
    elif words[1] not in ('bench', 'replay', 'completion'):
        words = [*words, '--overwrite']
    try:
        assert main(words[1:]) == 0
    except SystemExit as end:
        assert end.code == 0


def needs_tool(tool):
    if shutil.which('colcon' if tool == 'colcon' else 'ros2') is None:
        pytest.skip(f'needs {tool}, which does not come from PyPI wheels')


def run_until_ready(words, environment):
    """Run a command until the node is ready, then send Ctrl-C."""
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if 'ready after' in line:
                break
        # A terminal sends it to all processes of the group.
        os.killpg(process.pid, signal.SIGINT)
        said.append(process.communicate(timeout=60)[0])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode in (0, -signal.SIGINT), ''.join(said)
    assert any('ready after' in line for line in said) and 'Traceback' not in ''.join(said), said


def run_ros2(words, desk, tmp_path):
    environment = {**os.environ, **dds_environment()}
    if shutil.which('rviz2') is None:
        words = [word for word in words if word != 'rviz:=true']
    if words[1] in ('launch', 'run'):
        if subprocess.run(['ros2', 'pkg', 'prefix', 'gdm_motion_seg'],
                          capture_output=True).returncode:
            pytest.skip('needs the package in a ROS 2 workspace')
        if '--show-args' in words:
            subprocess.run(words, env=environment, check=True)
        else:
            words = [f'bag:={desk / "recording"}' if w == 'bag:=scene' else w for w in words]
            run_until_ready(words, environment)
        return
    if words[1] == 'pkg':
        subprocess.run(words, env=environment, check=True)
        return
    from gdm_motion_seg_tools.ros.session import Session
    from lifecycle_msgs.srv import ChangeState, GetState
    with Session() as session, NodeProcess({'autostart': False}, log=tmp_path / 'log') as running:
        def state():
            return session.call(GetState, '/motion_seg/get_state', GetState.Request(), 180) \
                .current_state.label

        assert state() == 'unconfigured'
        if words[1] == 'lifecycle':
            configure = ChangeState.Request()
            configure.transition.id = configure.transition.TRANSITION_CONFIGURE
            with suppress(GdmMotionSegError):  # On a busy machine the response may get lost.
                session.call(ChangeState, '/motion_seg/change_state', configure, 60, float('inf'))
            assert state() == 'inactive'
        done = subprocess.run([*words, '--no-daemon', '--spin-time', '5'], env=environment,
                              capture_output=True, text=True)
        assert done.returncode == 0, (done, running.output())
        assert 'not' not in done.stdout.lower().split(), done.stdout


def run_in_workspace(words, tmp_path):
    """Run commands of a colcon workspace; ``source`` after what it needs."""
    source = tmp_path / 'src' / 'gdm_motion_seg'
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(
        '.git', '.venv', '__pycache__', 'demo', 'build', 'install', 'log', '.*_cache',
        '*.egg-info', '.coverage*', 'htmlcov'))
    build = 'colcon build --packages-select gdm_motion_seg'
    script = shlex.join(words) if words[0] == 'colcon' else f'{build} && {shlex.join(words)}'
    subprocess.run(['bash', '-c', script], cwd=tmp_path, check=True)
    built = {path.name for path in (tmp_path / 'install').iterdir() if path.is_dir()}
    tools = {'gdm_motion_seg_tools'} if 'src/gdm_motion_seg/tools' in words else set()
    assert built == {'gdm_motion_seg', *tools}


@pytest.mark.parametrize('command', list(dict.fromkeys(commands())))
def test_a_documented_command_works(command, desk, checkout, monkeypatch, tmp_path):
    reason = longest_start(command, NOT_RUN)
    if reason:
        pytest.skip(reason)
    words = [*shlex.split(command), *(longest_start(command, SMALLER) or ())]
    if words[0] in TOOLS:
        needs_tool(TOOLS[words[0]])
    for package in longest_start(' '.join(words[1:]), PACKAGES) or ():
        pytest.importorskip(package)
    monkeypatch.chdir(desk)
    if words[0] == 'gdm-motion-seg':
        run_own(words, monkeypatch)
    elif words[0] == 'make':
        run_make(words, checkout)
    elif words[0] == 'python':
        run_python(words, checkout)
    elif words[0] == 'ros2':
        run_ros2(words, desk, tmp_path)
    elif words[0] in ('colcon', 'source'):
        run_in_workspace(words, tmp_path)
    else:
        subprocess.run(['bash', '-c', command], check=True)


def test_every_command_is_documented():
    documented = {shlex.split(command)[1] for command in commands()
                  if command.startswith('gdm-motion-seg ')}
    assert documented | {'demo'} >= set(COMMANDS)


def test_every_exception_is_for_a_documented_command():
    found = list(commands())
    gone = [start for start in (*NOT_RUN, *SMALLER)
            if not any(f'{command} '.startswith(f'{start} ') for command in found)]
    assert gone == []


@pytest.mark.parametrize('block', list(python_blocks()))
def test_a_documented_python_example_works(block, desk, monkeypatch):
    monkeypatch.chdir(desk)
    types, rng = rosbags_types(), np.random.default_rng(0)
    given = {'vectors': rng.normal(size=(60, 4)), 'message': cloud_from_rows(
        types, header_of(types, 1, 'camera'), np.zeros(3, KEYPOINT))}
    exec(compile(block, 'the documentation', 'exec'), given)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_links_within_the_project_are_valid(page):
    links = re.findall(r'\]\(([^)#]+?)(?:#[^)]*)?\)', page.read_text(encoding='utf-8'))
    for link in links:
        if '://' not in link:
            assert (page.parent / link).exists(), f'{page.name} links to {link}'
