# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every example runs; the subscriber is tested with the node."""

import importlib.util
import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from gdm_motion_seg_tools.synth import Renderer, scene_named

EXAMPLES = Path(__file__).resolve().parents[2] / 'examples'
FRAMES = 16


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return a folder of images in which two bodies move."""
    path = tmp_path_factory.mktemp('two_movers')
    renderer = Renderer(scene_named('two_movers'), (320, 240))
    for i in range(FRAMES):
        cv2.imwrite(str(path / f'{i:03d}.png'), renderer.frame(i).image)
    return path


def test_mask_for_colmap_writes_a_mask_per_image_that_ignores_what_moves(folder, tmp_path):
    load('mask_for_colmap').main(folder, tmp_path / 'masks')
    names = sorted(p.name for p in (tmp_path / 'masks').iterdir())
    assert names == [f'{i:03d}.png.png' for i in range(FRAMES)]
    last = cv2.imread(str(tmp_path / 'masks' / names[-1]), cv2.IMREAD_UNCHANGED)
    truth = Renderer(scene_named('two_movers'), (320, 240)).frame(FRAMES - 1).labels > 0
    assert last.shape == (240, 320) and last.dtype == np.uint8
    assert (last[truth] == 0).mean() > 0.7 and (last[~truth] == 255).mean() > 0.9


def test_static_features_finds_fewer_corners_where_something_moves(folder, capsys):
    counts = load('static_features').main(folder)
    assert len(counts) == FRAMES
    assert 'fewer than' in capsys.readouterr().out.splitlines()[-1]


def test_the_notebook_runs_from_top_to_bottom(folder, monkeypatch):
    pytest.importorskip('pandas', reason='the notebook shows a data frame (pandas)')
    matplotlib = pytest.importorskip('matplotlib', reason='the notebook plots (matplotlib)')
    matplotlib.use('Agg')
    monkeypatch.setenv('SOURCE', str(folder))
    notebook = json.loads((EXAMPLES / 'what_moves.ipynb').read_text(encoding='utf-8'))
    names = {}
    for cell in notebook['cells']:
        if cell['cell_type'] == 'code':
            exec(''.join(cell['source']), names)
    assert names['answer'].world is not None
    assert 'world' in names['answer']._repr_html_()
    assert 'body 1' in repr(names['answer']) and 'move' in repr(names['answer'])
    assert len(names['answer'].to_dataframe()) == len(names['answer'].correspondences)
    assert 0.0 < (names['mask'] > 0).mean() < 0.5
