# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The pages in a real browser."""

import signal
import subprocess
import sys

import cv2
import pytest
from sights import sight_at

from gdm_motion_seg.cli.main import main
from gdm_motion_seg.pipeline import PipelineConfig
from gdm_motion_seg.view.page import about
from gdm_motion_seg.view.player import State
from gdm_motion_seg.view.server import PageServer
from gdm_motion_seg_tools.synth.render import Renderer
from gdm_motion_seg_tools.synth.scenes import scene_named

PICTURE = """(() => { const c = document.createElement('canvas'); c.width = c.height = 32;
    const context = c.getContext('2d', {willReadFrequently: true});
    context.drawImage(picture, 0, 0, 32, 32);
    let sum = 1; for (const v of context.getImageData(0, 0, 32, 32).data)
        sum = (sum * 31 + v) % 1000000007;
    return sum; })()"""


@pytest.fixture
def page(browser):
    """Return the browser with an empty list of errors."""
    browser.complaints.clear()
    browser.requests.clear()
    return browser


@pytest.fixture
def command(three_bodies):
    """Return the address of a live page of a rendered scene, served by the command itself."""
    process = subprocess.Popen(
        [sys.executable, '-m', 'gdm_motion_seg', 'view', str(three_bodies), '--port', '0',
         '--no-browser'], stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    yield line.split(': ')[1].split()[0], process
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.stdout.close()


def number(page):
    return page.value('shown ? shown.number : -1')


def test_the_live_page_shows_a_scene_and_can_be_paused_and_stepped(page, command):
    address, _ = command
    page.open(address)
    first = page.wait_for('shown !== null && ' + PICTURE)
    page.wait_for(f'{PICTURE} !== {first}')
    page.wait_for('state === "ended"', 120.0)
    # Play it again from the beginning, step by step.
    page.click('#again')
    page.wait_for('state === "playing"')
    page.click('#pause')
    page.wait_for('state === "paused"')
    before, picture = number(page), page.value(PICTURE)
    page.click('#step')
    page.wait_for(f'shown.number > {before}')
    after = number(page)
    assert page.value('state') == 'paused'
    page.click('#step')
    page.wait_for(f'shown.number === {after} + 1')
    page.wait_for(f'{PICTURE} !== {picture}')
    page.click('#pause')
    page.wait_for('state === "ended"', 120.0)
    rows = page.value('[...document.querySelectorAll("#timeline g")].map(g => g.dataset.body)')
    assert len(rows) >= 3 and '0' not in rows
    assert page.value('document.querySelectorAll("#timeline rect").length') >= 3
    table = page.value(
        '[...document.querySelectorAll("#bodies tbody tr")].map(r => r.dataset.body)')
    assert set(table) == set(rows)
    assert 'p50' in page.value('document.getElementById("delay").textContent')
    assert page.complaints == []
    assert all(url.startswith((address, 'blob:', 'data:')) for url in page.requests)


def test_a_click_on_a_body_follows_it(page):
    server = PageServer(about('test', PipelineConfig(), True, 30.0))
    try:
        page.open(server.address)
        server.show(sight_at(0))
        page.wait_for('shown !== null')
        x, y = page.value("""(() => { const r = document.getElementById('picture')
            .getBoundingClientRect(); const b = shown.bodies[1].box;
            return [r.left + (b[0] + b[2]) / 2 / picture.width * r.width,
                    r.top + (b[1] + b[3]) / 2 / picture.height * r.height]; })()""")
        page.click_at(x, y)
        page.wait_for('follow === 2')
        assert not page.value('document.getElementById("follow").hidden')
        server.show(sight_at(1, bodies=(1,)))
        page.wait_for('document.getElementById("followed").textContent.includes("not seen")')
        page.click('#bodies tr[data-body="1"]')
        page.wait_for('follow === 1')
        page.click('#unfollow')
        page.wait_for('follow === null')
        assert page.complaints == []
    finally:
        server.close()


def test_the_page_survives_a_change_of_size_and_a_stream_that_stops(page):
    server = PageServer(about('test', PipelineConfig(), True, 30.0))
    try:
        page.open(server.address)
        server.show(sight_at(0))
        page.wait_for('picture.width === 160')
        server.show(sight_at(1, size=(320, 200)))
        page.wait_for('picture.width === 320 && marks.height === 200')
        server.tell(State.ENDED, 'camera 0 stopped after 2 images')
        page.wait_for('document.getElementById("note").textContent.includes("stopped")')
        assert page.complaints == []
    finally:
        server.close()
    page.wait_for('document.getElementById("note").textContent.includes("ended")')


def test_time_continues_when_a_recording_is_played_again(page):
    server = PageServer(about('test', PipelineConfig(), True, 30.0))
    try:
        page.open(server.address)
        for index, bodies in ((50, (1,)), (51, (1,)), (0, (2,)), (1, (2,))):
            server.show(sight_at(index, bodies=bodies))
        page.wait_for('moments.length === 4')
        times = page.value('moments.map(moment => moment.t)')
        assert times == pytest.approx([0.0, 0.1, 0.1, 0.2])
        spans = page.value('[...bodies.values()].map(b => [b.spans.length, b.first, b.last])')
        assert spans == [[1, 0, pytest.approx(0.1)], [1, pytest.approx(0.1), pytest.approx(0.2)]]
        assert page.complaints == []
    finally:
        server.close()


def test_no_text_of_the_data_is_run_as_a_script(page):
    evil = '</script><script>document.title = "owned"</script><img src=x onerror="alert(1)">'
    server = PageServer(about(evil, PipelineConfig(), True, 30.0))
    try:
        page.open(server.address)
        server.tell(State.ENDED, evil)
        page.wait_for('document.getElementById("note").textContent.includes("onerror")')
        assert page.value('document.getElementById("source").textContent') == evil
        assert page.complaints == []
    finally:
        server.close()


@pytest.fixture(scope='module')
def report(tmp_path_factory):
    """Return a page in one file, of a folder of rendered images."""
    folder = tmp_path_factory.mktemp('report')
    renderer = Renderer(scene_named('three_movers'), (320, 240))
    (folder / 'frames').mkdir()
    for i in range(40):
        cv2.imwrite(str(folder / 'frames' / f'{i}.png'), renderer.frame(i).image)
    assert main(['video', str(folder / 'frames'), '--out', str(folder / 'out'), '--no-bag',
                 '--no-video', '--html', str(folder / 'page.html')]) == 0
    assert not (folder / 'out' / 'overlay.mp4').exists()
    return folder / 'page.html'


def test_the_page_in_one_file_opens_from_disk_and_its_video_plays(page, report):
    pytest.importorskip('av', reason='needs PyAV')
    page.open(report.as_uri())
    page.wait_for('document.getElementById("film").videoWidth === 320')
    page.wait_for('state === "ended"', 120.0)
    assert page.value('document.getElementById("film").currentTime') > 1.0
    last = page.wait_for(PICTURE)
    page.click('#back')
    page.wait_for('Number(document.getElementById("seek").value) === 38')
    page.click('#back')
    page.wait_for('Number(document.getElementById("seek").value) === 37')
    page.wait_for(f'{PICTURE} !== {last}')
    page.click('#step')
    page.wait_for('Number(document.getElementById("seek").value) === 38')
    assert page.value('shown === moments[38]')
    assert page.value('document.querySelectorAll("#timeline g").length') >= 3
    assert page.value('document.querySelectorAll("#about tr").length') > 20
    page.click('#again')
    page.wait_for('state === "playing"')
    assert page.complaints == []
    assert all(url.startswith(('file:', 'blob:', 'data:')) for url in page.requests)
