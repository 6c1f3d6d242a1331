# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every command in the README and the docs is run, or named here with the reason why not."""

from pathlib import Path
import re
import shlex
import shutil
import subprocess

import cv2
import numpy as np
import pytest

from gdm_motion_seg.cli.main import build_parser, main
from gdm_motion_seg.io.videos import VideoWriter
from gdm_motion_seg.msgs.clouds import cloud_from_rows, header_of
from gdm_motion_seg.msgs.keypoints import KEYPOINT
from gdm_motion_seg.msgs.types import rosbags_types
from gdm_motion_seg.synth import Renderer, scene_named

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *(ROOT / 'docs').glob('*.md')])
FENCE = re.compile(r'^```(\w*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SHELL = ('console', 'bash', 'sh')
COMMAND = re.compile(r'(\.venv/bin/)?(gdm-motion-seg|make|ros2|colcon|pip|python3?) ')

NOT_RUN = {
    'make': 'it would run within itself; its target is looked up in the Makefile',
    'gdm-motion-seg bench':
        'it takes minutes or a data set; its flags are checked, and test/bench runs it',
    'gdm-motion-seg demo': 'it takes a minute; its flags are checked, and its parts are tested',
    'gdm-motion-seg replay': 'it wants a listener; its flags are checked, and test/ros runs it',
    'python -m pytest': 'it is what runs this',
    'python -m mypy': 'a part of "make test"',
    'python test/test_architecture.py':
        'it writes into the source tree; a test holds the result equal',
    'python -m gdm_motion_seg.ros.parameter_file':
        'it writes into the source tree; a test holds the result equal',
    'pip install': 'it wants the network; "make venv" installs the same',
    'git clone': 'it wants a place to clone from',
    'cd': 'it belongs to the colcon workspace of the line before it',
    'source': 'it belongs to the colcon workspace of the line before it',
    'rosdep': 'it wants ROS 2 with rosdep and the network',
    'colcon': 'it wants ROS 2 with colcon; test/ros builds the package where it is installed',
    'ros2': 'it wants ROS 2 with ros2cli; test/ros runs it where it is installed',
    'ros2 launch': 'it wants ROS 2 with launch; test/ros runs it where it is installed',
    'sros2': 'it wants ROS 2 with security tools',
}


def commands():
    """Yield every command in a shell block, with continued lines joined."""
    for page in PAGES:
        for language, block in FENCE.findall(page.read_text(encoding='utf-8')):
            for line in block.replace('\\\n', ' ').splitlines():
                line = line.partition(' # ')[0].strip().removeprefix('$ ')
                if not line or line.startswith('#'):
                    continue
                if language in SHELL or (not language and COMMAND.match(line + ' ')):
                    yield re.sub(r'^\.venv/bin/', '', line)


def python_blocks():
    for page in PAGES:
        for language, block in FENCE.findall(page.read_text(encoding='utf-8')):
            if language == 'python':
                yield pytest.param(block, id=page.name)


@pytest.fixture(scope='module')
def desk(tmp_path_factory, small_bag):
    """Give a folder with everything that the examples speak of."""
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
    return folder


def reason_not_to_run(command):
    matching = [start for start in NOT_RUN if f'{command} '.startswith(f'{start} ')]
    return NOT_RUN[max(matching, key=len)] if matching else None


def check_without_running(command):
    words = shlex.split(command)
    if words[0] == 'gdm-motion-seg':
        build_parser(words[1]).parse_args(words[1:])
    if words[0] == 'make' and len(words) > 1:
        assert f'\n{words[1]}:' in (ROOT / 'Makefile').read_text(encoding='utf-8')


@pytest.mark.parametrize('command', list(dict.fromkeys(commands())))
def test_a_documented_command_works(command, desk, monkeypatch):
    monkeypatch.chdir(desk)
    reason = reason_not_to_run(command)
    if reason:
        check_without_running(command)
        pytest.skip(reason)
    words = shlex.split(command)
    if words[0] == 'gdm-motion-seg':
        try:
            assert main([*words[1:], '--overwrite']) == 0
        except SystemExit as end:  # --help and --version
            assert end.code == 0
    else:
        subprocess.run(words, check=True)


@pytest.mark.parametrize('block', list(python_blocks()))
def test_a_documented_piece_of_python_works(block, desk, monkeypatch):
    monkeypatch.chdir(desk)
    types, rng = rosbags_types(), np.random.default_rng(0)
    given = {'vectors': rng.normal(size=(60, 4)), 'message': cloud_from_rows(
        types, header_of(types, 1, 'camera'), np.zeros(3, KEYPOINT))}
    exec(compile(block, 'the documentation', 'exec'), given)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page):
    links = re.findall(r'\]\(([^)#]+?)(?:#[^)]*)?\)', page.read_text(encoding='utf-8'))
    for link in links:
        if '://' not in link:
            assert (page.parent / link).exists(), f'{page.name} links to {link}'
