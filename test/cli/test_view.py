# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The commands view and completion, and --html."""

import json
import re
import shutil
import socket
import subprocess
import sys
import webbrowser

import pytest

from gdm_motion_seg.cli import view
from gdm_motion_seg.cli.main import COMMANDS, main
from gdm_motion_seg.io import videos
from gdm_motion_seg.view.server import PageServer

QUICK = ('--no-browser', '--port', '0', '--end', '--frames', '2')


def test_a_source_is_shown_to_its_end(small_bag, capsys):
    assert main(['view', str(small_bag[0]), *QUICK]) == 0
    assert re.search(r'http://127\.0\.0\.1:\d+', capsys.readouterr().out)


def test_a_page_for_other_machines_prints_a_warning(small_bag, capsys):
    assert main(['view', str(small_bag[0]), *QUICK, '--host', '0.0.0.0']) == 0
    assert 'warning: everyone who can reach' in capsys.readouterr().err


def test_a_machine_without_a_browser_gets_the_address(small_bag, capsys, monkeypatch):
    def none(address):
        raise webbrowser.Error('could not locate runnable browser')
    monkeypatch.setattr(view.webbrowser, 'open', none)
    assert main(['view', str(small_bag[0]), *QUICK[1:]]) == 0
    assert 'open the address in one' in capsys.readouterr().err


@pytest.mark.parametrize('words, sentence', [
    (['no/such/file'], 'no/such/file does not exist'),
    (['987'], 'no camera 987 that can be opened'),
    (['drive.mp4', '--port', '70000'], 'not a port from 0 to 65535'),
    (['ros:/motion_seg', '--rerun'], 'not a node')])
def test_a_source_that_cannot_be_shown_is_refused_with_one_sentence(words, sentence, capsys,
                                                                    tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(['view', *words, '--no-browser'])
    except SystemExit as stop:
        code = stop.code
    error = capsys.readouterr().err
    assert code == 2 and sentence in error and 'Traceback' not in error


def test_a_port_in_use_is_refused_with_one_sentence(small_bag, capsys):
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(['view', str(small_bag[0]), '--no-browser', '--port', str(port)]) == 2
    assert f'port {port} of 127.0.0.1' in capsys.readouterr().err


def test_if_an_input_fails_the_page_stays_open_with_the_reason(tmp_path, monkeypatch, capsys):
    folder = tmp_path / 'frames'
    folder.mkdir()
    (folder / '0.png').write_bytes(b'this is no image')
    told = []
    monkeypatch.setattr(PageServer, 'tell', lambda self, state, note: told.append(note))
    monkeypatch.setattr('gdm_motion_seg.view.player.Player.wait', lambda self: None)
    assert main(['view', str(folder), '--no-browser', '--port', '0']) == 0
    assert 'cannot be decoded as an image' in told[-1]
    assert 'cannot be decoded as an image' in capsys.readouterr().err


def test_rerun_gets_images_tracks_boxes_and_plots(small_bag, tmp_path, capsys):
    pytest.importorskip('rerun', reason='needs the Rerun SDK (pip install rerun-sdk)')
    file = tmp_path / 'motions.rrd'
    words = ['view', str(small_bag[0]), '--rerun', str(file), '--frames', '8', '--masks']
    assert main(words) == 0
    assert '8 frames are in' in capsys.readouterr().out
    data = file.read_bytes()
    for path in (b'camera/tracks', b'camera/bodies', b'camera/flow', b'camera/masks',
                 b'latency_ms'):
        assert path in data
    assert main(['view', str(small_bag[0]), '--rerun', str(file)]) == 2


def test_a_page_is_one_file_with_settings_versions_and_every_frame(small_bag, tmp_path):
    pytest.importorskip('av', reason='needs PyAV')
    file = tmp_path / 'page.html'
    words = ['bag', str(small_bag[0]), '--out', str(tmp_path / 'out'), '--html', str(file),
             '--no-tables', '--no-bag', '--set', 'seed=7']
    assert main(words) == 0
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>',
                                file.read_text(encoding='utf-8')).group(1))
    assert len(data['moments']) == 16
    assert data['about']['settings']['seed'] == 7
    assert 'gdm_motion_seg' in data['about']['versions']
    assert (tmp_path / 'out' / 'overlay.mp4').exists()
    assert main(words) == 2


def test_a_page_without_a_codec_for_it_is_refused_before_anything_is_done(small_bag, tmp_path,
                                                                          monkeypatch, capsys):
    monkeypatch.setattr('gdm_motion_seg.view.page.plays_in_browsers', lambda: False)
    out = tmp_path / 'out'
    assert main(['bag', str(small_bag[0]), '--out', str(out), '--html', 'page.html']) == 2
    assert "needs PyAV with H.264: pip install 'gdm_motion_seg[view]'" in capsys.readouterr().err
    assert not out.exists()


def test_the_node_imports_nothing_of_the_viewer():
    pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
    code = ('import sys, gdm_motion_seg.ros.main, gdm_motion_seg.ros.node; '
            'print([m for m in sys.modules if m.split(".")[0] in ("tornado", "av", "rerun") '
            'or m.startswith("gdm_motion_seg.view")])')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert done.stdout.strip() == '[]', done.stderr


@pytest.mark.parametrize('shell', ['bash', 'zsh', 'fish'])
def test_the_script_for_a_shell_knows_every_command_and_is_valid(shell, capsys, tmp_path):
    shtab = pytest.importorskip('shtab', reason='needs shtab')
    if shell not in shtab.SUPPORTED_SHELLS:
        pytest.skip(f'shtab {shtab.__version__} does not write for {shell}')
    assert main(['completion', shell]) == 0
    script = capsys.readouterr().out
    assert all(command in script for command in COMMANDS)
    assert 'no-browser' in script and 'html' in script
    if shutil.which(shell):
        file = tmp_path / 'script'
        file.write_text(script)
        assert subprocess.run([shell, '-n', str(file)]).returncode == 0


def test_bash_completes_commands_and_flags(capsys, tmp_path):
    pytest.importorskip('shtab', reason='needs shtab')
    if shutil.which('bash') is None:
        pytest.skip('needs bash')
    assert main(['completion', 'bash']) == 0
    file = tmp_path / 'script'
    file.write_text(capsys.readouterr().out)

    def complete(*words):
        line = ' '.join(words)
        code = (f'source {file}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; '
                'f=$(complete -p gdm-motion-seg | sed "s/.*-F \\([^ ]*\\) .*/\\1/"); '
                f'$f gdm-motion-seg "{words[-1]}" "{words[-2]}"; echo "${{COMPREPLY[@]}}"')
        return subprocess.run(['bash', '-c', code], capture_output=True, text=True).stdout.split()

    assert complete('gdm-motion-seg', 'vi') == ['video', 'view']
    assert complete('gdm-motion-seg', 'view', '--no') == ['--no-browser']


def test_without_shtab_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'shtab', None)
    assert main(['completion', 'bash']) == 2
    assert "pip install 'gdm_motion_seg[completion]'" in capsys.readouterr().err


def test_videos_are_also_written_without_pyav(monkeypatch):
    monkeypatch.setitem(sys.modules, 'av', None)
    assert not videos.plays_in_browsers()
