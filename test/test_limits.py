# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Limits by design: no execution of data, no writing outside of outputs, bounded memory."""

import ast
from pathlib import Path
import tracemalloc

import numpy as np
import pytest

from gdm_motion_seg.cli.main import main
from gdm_motion_seg.io.bags import BagWriter
from gdm_motion_seg.msgs.clouds import header_of
from gdm_motion_seg.msgs.images import encode_image
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg.pipeline import MotionPipeline, PipelineConfig
from gdm_motion_seg.tracking.config import TrackingConfig
from gdm_motion_seg_tools.synth.render import Renderer
from gdm_motion_seg_tools.synth.scenes import scene_named

ROOT = Path(__file__).resolve().parent.parent
FORBIDDEN_MODULES = {'pickle', 'cPickle', 'dill', 'shelve', 'marshal', 'joblib', 'cloudpickle'}
FORBIDDEN_CALLS = {'eval', 'exec', 'compile', 'os.system', 'os.popen', 'yaml.load',
                   'yaml.unsafe_load', 'yaml.full_load', 'subprocess.getoutput',
                   'subprocess.getstatusoutput', 'tempfile.mktemp'}


def sources():
    """Return every source file of the package."""
    return [*sorted((ROOT / 'gdm_motion_seg').rglob('*.py')),
            *sorted((ROOT / 'tools').rglob('*.py')), *sorted((ROOT / 'launch').glob('*'))]


@pytest.mark.parametrize('path', [p for p in sources() if p.suffix == '.py'],
                         ids=lambda p: str(p.relative_to(ROOT)))
def test_no_data_is_run_as_code_and_no_shell_is_used(path):
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            assert not FORBIDDEN_MODULES & {alias.name.split('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module.split('.')[0] not in FORBIDDEN_MODULES
        elif isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in FORBIDDEN_CALLS
            for keyword in node.keywords:
                assert keyword.arg not in ('shell', 'allow_pickle'), ast.unparse(node)


def files_below(folder):
    """Return the names of everything in a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob('*')}


def test_no_name_in_a_bag_leads_outside_of_the_output_folder(tmp_path):
    types = rosbags_types()
    renderer = Renderer(scene_named('small_mover'), (160, 120), 30.0)
    with BagWriter(tmp_path / 'bag') as bag:
        for i in range(8):
            frame = renderer.frame(i)
            header = header_of(types, frame.stamp, '../../../evil/camera')
            bag.write('/../../evil/image', encode_image(types, header, frame.image), frame.stamp)
    before = files_below(tmp_path)
    assert main(['bag', str(tmp_path / 'bag'), '--out', str(tmp_path / 'deep' / 'out')]) == 0
    new = files_below(tmp_path) - before
    assert new and all(name == 'deep' or name.startswith('deep/out') for name in new)


def test_a_parameter_file_cannot_make_a_command_write(tmp_path, small_bag):
    parameters = tmp_path / 'evil.yaml'
    target = tmp_path / 'target'
    parameters.write_text('/**:\n  ros__parameters:\n    tracking:\n'
                          f'      mask_path: "{target}"\n')
    assert main(['bag', str(small_bag[0]), '--out', str(tmp_path / 'out'),
                 '--params', str(parameters)]) == 2
    assert files_below(tmp_path) == {'evil.yaml'}


def test_a_yaml_tag_is_not_executed(tmp_path, small_bag):
    parameters = tmp_path / 'evil.yaml'
    parameters.write_text('!!python/object/apply:os.mkdir ["evil"]\n')
    assert main(['bag', str(small_bag[0]), '--out', str(tmp_path / 'out'),
                 '--params', str(parameters)]) == 2
    assert files_below(tmp_path) == {'evil.yaml'}


def test_the_memory_of_a_long_stream_is_bounded():
    renderer = Renderer(scene_named('small_mover'), (160, 120), 30.0)
    images = [renderer.frame(i).image for i in range(12)]
    noise = np.random.default_rng(0)
    pipeline = MotionPipeline(PipelineConfig(TrackingConfig(max_tracks=60, frame_gap=3)))

    def play(first, count):
        for i in range(first, first + count):
            # Forwards and backwards; sometimes noise, in which all tracks are lost.
            picture = images[abs(i % 22 - 11)] if i % 20 else noise.integers(
                0, 255, images[0].shape, np.uint8)
            pipeline.process(picture, 10**9 + i * 33_333_333)

    play(0, 40)
    tracemalloc.start()
    try:
        play(40, 40)
        before = tracemalloc.get_traced_memory()[0]
        play(80, 80)
        growth = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert growth < 200_000
