# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Progress is shown on a terminal and nowhere else."""

import io

import pytest
from rich.console import Console

from gdm_motion_seg.cli import console


@pytest.mark.parametrize('terminal', [True, False])
def test_progress_is_shown_on_a_terminal_only(monkeypatch, terminal):
    written = io.StringIO()
    screen = Console(file=written, force_terminal=terminal, width=100)
    monkeypatch.setattr(console, 'notes', screen)
    with console.progress_bar('rendering', 3) as advance:
        for done in (1, 2, 3):
            advance(done)
    with console.busy('waiting'):
        pass
    text = written.getvalue()
    assert ('rendering' in text and '3/3' in text and 'waiting' in text) == terminal
    assert (text == '') == (not terminal)
