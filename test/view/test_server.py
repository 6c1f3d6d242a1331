# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The server without a browser, over HTTP and web socket."""

import asyncio
import json
import struct
import threading
import urllib.error
import urllib.request

import pytest
from sights import sight_at
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.pipeline import PipelineConfig
from gdm_motion_seg.view.feeds import Sight
from gdm_motion_seg.view.page import about
from gdm_motion_seg.view.player import State
from gdm_motion_seg.view.server import is_loopback, PageServer

LONG_S = 60.0


@pytest.fixture
def server():
    """Return a server on a free port."""
    this = PageServer(about('drive.mp4', PipelineConfig(), False, 30.0))
    yield this
    this.close()


def talk(server, script, **headers):
    """Run a coroutine with a web socket."""
    async def run():
        address = server.address.replace('http', 'ws') + '/stream'
        socket = await websocket_connect(HTTPRequest(address, headers=headers),
                                         max_message_size=1 << 24)
        try:
            return await asyncio.wait_for(script(socket), LONG_S)
        finally:
            socket.close()
    return asyncio.run(run())


async def take(socket):
    """Ask for the next message; returns its head and its picture."""
    await socket.write_message('next')
    data = await socket.read_message()
    length, = struct.unpack('>I', data[:4])
    return json.loads(data[4:4 + length]), data[4 + length:]


def get(server, **headers):
    request = urllib.request.Request(server.address, headers=headers)
    with urllib.request.urlopen(request, timeout=LONG_S) as answer:
        return answer.read().decode(), answer.headers


def test_the_page_loads_nothing_from_other_hosts(server):
    text, headers = get(server)
    assert 'drive.mp4' in text and '@DATA@' not in text
    # The namespace of SVG is not an address that is loaded.
    assert 'http' not in text.replace('http://www.w3.org/2000/svg', '').replace(
        'http-equiv', '').replace('/^http/', '')
    assert "default-src 'none'" in headers['Content-Security-Policy']


def test_an_unknown_host_name_is_refused(server):
    with pytest.raises(urllib.error.HTTPError, match='403'):
        get(server, Host='evil.example')


def test_a_page_of_another_origin_cannot_listen(server):
    async def nothing(socket):
        return None
    with pytest.raises(HTTPClientError, match='403'):
        talk(server, nothing, Origin='http://evil.example')


def test_a_browser_gets_every_moment_and_the_newest_picture(server):
    async def script(socket):
        server.show(sight_at(0))
        moments, pictures = [], []
        for index in range(1, 4):
            server.show(sight_at(index))
        while len(moments) < 4 or not pictures or pictures[-1] != 3:
            head, picture = await take(socket)
            moments += [moment['number'] for moment in head['moments']]
            if picture:
                assert picture[:2] == b'\xff\xd8'
                pictures.append(head['shown'])
        return moments
    assert talk(server, script) == [0, 1, 2, 3]


def test_a_late_browser_gets_the_earlier_moments(server):
    for index in range(5):
        server.show(sight_at(index))

    async def script(socket):
        return (await take(socket))[0]
    head = talk(server, script)
    assert [moment['number'] for moment in head['moments']] == [0, 1, 2, 3, 4]


def test_nothing_is_drawn_without_a_browser_and_then_the_newest_frame(server):
    drawn = []
    for index in range(3):
        sight = sight_at(index)
        server.show(Sight(sight.moment, lambda index=index: drawn.append(index) or b'picture'))
    assert drawn == []

    async def script(socket):
        while not (await take(socket))[1]:
            pass
    talk(server, script)
    assert drawn == [2]


def test_a_slow_browser_never_delays_the_feed(server):
    drawing, free = threading.Event(), threading.Event()

    def slow():
        drawing.set()
        assert free.wait(LONG_S)
        return b'picture'

    async def script(socket):
        await socket.write_message('next')
        await socket.read_message()
        server.show(Sight(sight_at(0).moment, slow))
        await asyncio.get_running_loop().run_in_executor(None, drawing.wait, LONG_S)
        # If show waited for the drawing, this loop would not end.
        for index in range(1, 200):
            server.show(sight_at(index))
        free.set()
    server.tell(State.PLAYING, 'begin')
    talk(server, script)


def test_a_browser_can_only_call_the_known_commands(server):
    done = []
    server.commands['pause'] = lambda: done.append('pause')

    async def script(socket):
        for word in ('quit', '__init__', 'pause'):
            await socket.write_message(word)
        server.tell(State.PAUSED, '')
        await take(socket)
    talk(server, script)
    assert done == ['pause']


def test_a_feed_that_starts_again_begins_a_new_run(server):
    async def script(socket):
        server.show(sight_at(0))
        first, _ = await take(socket)
        server.clear()
        server.show(sight_at(0))
        while not (await take(socket))[0]['run'] > first['run']:
            pass
    talk(server, script)


def test_a_port_in_use_is_refused_with_one_sentence(server):
    with pytest.raises(InputError, match=f'port {server.port} of 127.0.0.1 .*--port'):
        PageServer({}, port=server.port)


def test_an_invalid_address_is_refused_with_one_sentence():
    with pytest.raises(InputError, match="no address 'nowhere.invalid'"):
        PageServer({}, host='nowhere.invalid')


@pytest.mark.parametrize('host, expected', [
    ('127.0.0.1', True), ('localhost', True), ('::1', True), ('0.0.0.0', False),
    ('192.168.1.5', False), ('robot', False)])
def test_only_loopback_needs_no_warning(host, expected):
    assert is_loopback(host) is expected
