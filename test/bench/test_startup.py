# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parts of ``bench startup``: time without output, and processor time."""

import json
import os
import sys

import pytest

from gdm_motion_seg.cli.main import main
from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg_tools.bench import startup


def python(code):
    """Run Python on a terminal."""
    return startup.on_terminal((sys.executable, '-c', code), os.environ)


def test_the_longest_time_without_output_is_measured_anywhere_in_the_run():
    middle = python('import time; print(1, flush=True); time.sleep(2); print(2, flush=True)')
    end = python('import time; print(1, flush=True); time.sleep(2)')
    assert middle.silent_s > 1.9 and end.silent_s > 1.9
    assert middle.wall_s > middle.silent_s


def test_processor_time_of_children_counts_and_sleep_does_not():
    work = 'import time\nwhile time.process_time() < 0.5: pass'
    child = python(f'import subprocess, sys; subprocess.run([sys.executable, "-c", {work!r}])')
    assert child.cpu_s >= 0.5
    assert python('import time; time.sleep(1)').cpu_s < 0.9


def test_a_command_sees_a_terminal():
    python('import sys; assert sys.stdout.isatty() and sys.stderr.isatty()')


def test_a_command_that_fails_is_an_error_with_its_last_output():
    with pytest.raises(GdmMotionSegError, match='exit code 3: it broke'):
        python('import sys; print("it broke"); sys.exit(3)')


def test_the_report_has_the_figures_of_all_calls(monkeypatch, tmp_path):
    def call(words, cache):
        cache.mkdir(exist_ok=True)
        if not list(cache.iterdir()):
            (cache / 'kernel.nbc').touch()
            return startup.Call(20.0, 30.0, 2.5 if words[0] == 'segment' else 1.5)
        return startup.Call(1.25, 2.0, 1.0)

    monkeypatch.setattr(startup, 'call', call)
    assert main(['bench', 'startup', '--json', str(tmp_path / 'startup.json')]) == 0
    report = json.loads((tmp_path / 'startup.json').read_text())
    assert report['summary']['startup'] == {
        'compile_cpu_s': 20.0, 'warm_segment_cpu_s': 1.25, 'silent_s': 2.5,
        'first_segment_cpu_s': 20.0, 'compile_silent_s': 1.5, 'compiled_later': 0.0}
    assert [row['call'] for row in report['rows']] == [
        'first segment', 'compile', *3 * ['warm segment']]
