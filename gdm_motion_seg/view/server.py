# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Web server of the live page, with one web socket; by default on the loopback interface."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
import ipaddress
import json
import socket
import struct
import threading
import time
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.ros.worker import NewestWins
from gdm_motion_seg.view.feeds import Sight
from gdm_motion_seg.view.page import CONTENT_POLICY, page
from gdm_motion_seg.view.player import State

REMEMBERED = 1800
"""Number of moments that a newly opened page gets: a minute at 30 Hz."""
START_S = 10.0
GOODBYE_S = 0.05
"""Time for the last messages to the browsers."""
_LENGTH = struct.Struct('>I')


class PageServer:
    """
    A :class:`~gdm_motion_seg.view.player.Screen` for any number of browsers.

    One thread serves, another draws, at the rate of the fastest browser. Frames that come faster
    are skipped, and without a browser nothing is drawn. ``show`` never waits for these threads.
    """

    def __init__(self, about: Mapping[str, Any], host: str = '127.0.0.1', port: int = 0) -> None:
        """Bind the port; raises InputError if it is in use."""
        self.commands: dict[str, Callable[[], None]] = {}
        """The commands of a browser, by name."""
        self._about = dict(about)
        self._sockets = _bind(host, port)
        self.port: int = self._sockets[0].getsockname()[1]
        self.address = f'http://{f"[{host}]" if ":" in host else host}:{self.port}'
        self._allowed = _names(host)
        self._moments: deque[tuple[int, str]] = deque(maxlen=REMEMBERED)
        self._count = 0
        self._newest: tuple[int, Sight] | None = None
        self._state: dict[str, Any] = {'state': State.PLAYING.value, 'note': '',
                                       'run': time.time_ns()}
        self._jpeg, self._jpeg_of = b'', -1
        self._clients: set[_Stream] = set()
        self._loop = asyncio.new_event_loop()
        self._draw = NewestWins(self._make_picture, self._report, 'view_draw')
        started = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(started,), name='view_serve',
                                        daemon=True)
        self._thread.start()
        started.wait(START_S)

    def show(self, sight: Sight) -> None:
        """Send a frame to every browser that is ready for one."""
        number, self._count = self._count, self._count + 1
        document = {'number': number, **sight.moment.document()}
        self._call(self._add, number, json.dumps(document, allow_nan=False))
        # In this order, so that a browser that connects meanwhile also gets the picture.
        self._newest = number, sight
        if self._clients:
            self._draw.put(self._newest)

    def tell(self, state: State, note: str) -> None:
        """Send the state of the player."""
        self._call(self._set_state, {'state': state.value, 'note': note})

    def clear(self) -> None:
        """Forget all frames, because the feed starts again."""
        self._call(self._forget)

    def close(self) -> None:
        """Stop serving and drawing."""
        self._draw.stop(START_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_S)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def _make_picture(self, item: tuple[int, Sight]) -> None:
        number, sight = item
        if jpeg := sight.jpeg():
            self._call(self._set_picture, number, jpeg)

    def _report(self, error: Exception) -> None:
        self._call(self._set_state, {'note': f'a frame could not be drawn: {error}'})

    def _serve(self, started: threading.Event) -> None:
        """Run the event loop of the server thread, which calls all methods below."""
        asyncio.set_event_loop(self._loop)
        pages = {'server': self}
        server = HTTPServer(Application([(r'/', _Page, pages), (r'/stream', _Stream, pages)]))
        server.add_sockets(self._sockets)
        self._loop.call_soon(started.set)
        self._loop.run_forever()
        server.stop()
        for client in list(self._clients):
            client.close()
        self._loop.run_until_complete(asyncio.sleep(GOODBYE_S))
        self._loop.run_until_complete(server.close_all_connections())
        self._loop.close()

    def _add(self, number: int, text: str) -> None:
        self._moments.append((number, text))
        self._push()

    def _set_picture(self, number: int, jpeg: bytes) -> None:
        self._jpeg, self._jpeg_of = jpeg, number
        self._push()

    def _set_state(self, state: dict[str, Any]) -> None:
        self._state.update(state)
        self._push()

    def _forget(self) -> None:
        self._moments.clear()
        self._state['run'] += 1
        self._push()

    def _push(self) -> None:
        for client in list(self._clients):
            client.push()

    def message(self, after: int, with_picture: bool) -> bytes:
        """Return the moments after a number, the state, and the picture if requested."""
        head = json.dumps({**self._state, 'shown': self._jpeg_of if with_picture else None})
        moments = ','.join(text for number, text in self._moments if number > after)
        text = f'{head[:-1]}, "moments": [{moments}]}}'.encode()
        return _LENGTH.pack(len(text)) + text + (self._jpeg if with_picture else b'')

    @property
    def newest(self) -> tuple[int, int, str]:
        """Return the numbers of the newest moment, picture and state."""
        last = self._moments[-1][0] if self._moments else -1
        return last, self._jpeg_of, json.dumps(self._state)

    @property
    def about(self) -> dict[str, Any]:
        """Return the source, the settings and the versions, which do not change."""
        return self._about

    def check(self, handler: RequestHandler) -> None:
        """Refuse unknown host names, against DNS rebinding."""
        if self._allowed is not None and handler.request.host_name not in self._allowed:
            raise HTTPError(403)

    def join(self, client: '_Stream') -> None:
        """Send frames to a new browser, beginning with the newest."""
        self._clients.add(client)
        if self._newest is not None:
            self._draw.put(self._newest)

    def leave(self, client: '_Stream') -> None:
        """Send no more frames to a browser."""
        self._clients.discard(client)

    def obey(self, command: str) -> None:
        """Execute a command of a browser, if it is known."""
        if command in self.commands:
            self.commands[command]()


class _Page(RequestHandler):
    """The page itself."""

    def initialize(self, server: PageServer) -> None:
        self._server = server

    def get(self) -> None:
        self._server.check(self)
        self.set_header('Content-Security-Policy', CONTENT_POLICY)
        self.set_header('Cache-Control', 'no-store')
        self.finish(page(self._server.about))


class _Stream(WebSocketHandler):
    """
    One browser.

    It requests the next frame when it has drawn the last one. A slow browser skips frames and
    delays neither the pipeline nor other browsers.
    """

    def initialize(self, server: PageServer) -> None:
        self._server = server
        self._has = (-1, -1, '')
        self._ready = False

    def prepare(self) -> None:
        self._server.check(self)

    def open(self, *_: str) -> None:
        self._server.join(self)

    def on_message(self, message: str | bytes) -> None:
        if message == 'next':
            self._ready = True
            self.push()
        elif isinstance(message, str):
            self._server.obey(message)

    def on_close(self) -> None:
        self._server.leave(self)

    def push(self) -> None:
        """Send new data, if the browser waits for them."""
        newest = self._server.newest
        if not self._ready or newest == self._has:
            return
        data = self._server.message(self._has[0], newest[1] != self._has[1])
        self._ready, self._has = False, newest
        try:
            self.write_message(data, binary=True)
        except (WebSocketClosedError, StreamClosedError):
            self._server.leave(self)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == 'localhost':
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _names(host: str) -> set[str] | None:
    """Return the permitted host names of the page; None for any."""
    if not is_loopback(host):
        return None
    return {'localhost', host, f'[{host}]', '127.0.0.1', '[::1]', '::1'}


def _bind(host: str, port: int) -> list[socket.socket]:
    try:
        return bind_sockets(port, host)
    except socket.gaierror:
        raise InputError(f'there is no address {host!r} to serve the page on') from None
    except (OSError, OverflowError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise InputError(f'the page cannot be served on port {port} of {host} '
                         f'({reason.lower()}); choose another with --port') from None
