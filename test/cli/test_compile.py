# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``compile``, and messages while a command waits for the compiler."""

import threading

import pytest

from gdm_motion_seg import progress as progress_module, warm_up as warm_up_module
from gdm_motion_seg.cli import main as main_module
from gdm_motion_seg.cli.main import main
from gdm_motion_seg.progress import progress


@pytest.fixture
def said(monkeypatch):
    """Return what a command says, and an event for the second sentence."""
    sentences, twice, say = [], threading.Event(), main_module._say

    def listen(sentence):
        say(sentence)
        sentences.append(sentence)
        if len(sentences) == 2:
            twice.set()

    monkeypatch.setattr(main_module, '_say', listen)
    monkeypatch.setattr(progress_module, 'EVERY_S', 0.01)
    return sentences, twice


def test_a_command_repeatedly_reports_what_it_waits_for(said, monkeypatch, capsys):
    sentences, twice = said

    def compiling(config):
        with progress.waiting('compiling, once on each machine'):
            assert twice.wait(60)

    monkeypatch.setattr(warm_up_module, 'warm_up', compiling)
    assert main(['compile']) == 0
    assert 'compiling, once on each machine (' in capsys.readouterr().err
    assert len(sentences) >= 2


def test_compile_compiles_for_the_settings_that_are_given(monkeypatch, capsys):
    configs = []
    monkeypatch.setattr(warm_up_module, 'warm_up', configs.append)
    assert main(['compile', '--set', 'tracking.max_tracks=77']) == 0
    assert configs[0].tracking.max_tracks == 77
    assert 'compiled' in capsys.readouterr().out


def test_warm_up_compiles_the_kernels():
    from gdm_motion_seg.ros.config import NodeConfig
    warm_up_module.warm_up(NodeConfig())
    before = progress.compiled
    warm_up_module._warm_up.cache_clear()
    warm_up_module.warm_up(NodeConfig())
    assert progress.compiled == before
