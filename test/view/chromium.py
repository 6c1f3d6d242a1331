# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A real Chromium without a window, driven over its DevTools protocol."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
import json
import os
from pathlib import Path
import shutil
import subprocess
import threading
import time
from typing import Any
import urllib.request

from tornado.websocket import websocket_connect, WebSocketClientConnection

NAMES = ('chromium', 'chromium-browser', 'google-chrome')
FLAGS = ('--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update', '--disable-sync',
         '--disable-dev-shm-usage', '--mute-audio', '--remote-debugging-port=0',
         '--remote-allow-origins=*', '--window-size=1400,1000', 'about:blank')
START_S, ANSWER_S = 60.0, 30.0


def find() -> str | None:
    """Return the program, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser; use it in a ``with`` statement."""

    def __init__(self, profile: Path) -> None:
        """Start the browser with an empty profile."""
        self.complaints: list[str] = []
        """Errors of the console and exceptions, and requests to other hosts."""
        self.requests: list[str] = []
        self._profile = profile
        self._process = subprocess.Popen(
            [find() or NAMES[0], f'--user-data-dir={profile}', *FLAGS], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, 'HOME': str(profile)})
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._next = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._socket = self._run(self._connect())
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.send(f'{domain}.enable')

    def __enter__(self) -> 'Browser':
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the browser."""
        with suppress(Exception):
            self.send('Browser.close')
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(START_S)

    async def _connect(self) -> WebSocketClientConnection:
        deadline = time.monotonic() + START_S
        note = self._profile / 'DevToolsActivePort'
        while not (note.exists() and note.read_text().count('\n')):
            assert time.monotonic() < deadline, 'Chromium did not start'
            await asyncio.sleep(0.05)
        port = note.read_text().split()[0]
        while True:
            with urllib.request.urlopen(f'http://127.0.0.1:{port}/json') as answer:
                pages = [p for p in json.load(answer) if p['type'] == 'page']
            if pages:
                break
            await asyncio.sleep(0.05)
        return await websocket_connect(pages[0]['webSocketDebuggerUrl'],
                                       on_message_callback=self._take,
                                       max_message_size=100 << 20)

    def _take(self, text: str | bytes | None) -> None:
        if text is None:
            return
        message = json.loads(text)
        if 'id' in message:
            self._waiting.pop(message['id']).set_result(message)
        elif message['method'] == 'Runtime.exceptionThrown':
            self.complaints.append(str(message['params']['exceptionDetails']))
        elif message['method'] == 'Log.entryAdded':
            if message['params']['entry']['level'] in ('error', 'warning'):
                self.complaints.append(message['params']['entry']['text'])
        elif message['method'] == 'Runtime.consoleAPICalled':
            if message['params']['type'] in ('error', 'warning', 'assert'):
                self.complaints.append(str(message['params']['args']))
        elif message['method'] == 'Network.requestWillBeSent':
            self.requests.append(message['params']['request']['url'])

    def send(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result."""
        return self._run(self._send(method, parameters))

    async def _send(self, method: str, parameters: dict[str, Any]) -> Any:
        self._next += 1
        future = self._waiting[self._next] = self._loop.create_future()
        await self._socket.write_message(json.dumps(
            {'id': self._next, 'method': method, 'params': parameters}))
        message = await asyncio.wait_for(future, ANSWER_S)
        assert 'error' not in message, message
        return message['result']

    def open(self, address: str) -> None:
        """Load a page."""
        self.send('Page.navigate', url=address)
        self.wait_for('document.readyState === "complete" && location.href !== "about:blank"')

    def value(self, expression: str) -> Any:
        """Evaluate JavaScript in the page."""
        result = self.send('Runtime.evaluate', expression=expression, returnByValue=True,
                           awaitPromise=True, userGesture=True)
        assert 'exceptionDetails' not in result, result
        return result['result'].get('value')

    def wait_for(self, expression: str, timeout: float = 60.0) -> Any:
        """Wait until JavaScript is true; returns its value."""
        deadline = time.monotonic() + timeout
        while not (value := self.value(expression)):
            assert time.monotonic() < deadline, f'{expression} did not come true'
            time.sleep(0.05)
        return value

    def click(self, selector: str) -> None:
        """Click the middle of an element as a mouse does."""
        x, y = self.value(f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: 'nearest'}}); const r = e.getBoundingClientRect();
            return [r.left + r.width / 2, r.top + r.height / 2]; }})()""")
        self.click_at(x, y)

    def click_at(self, x: float, y: float) -> None:
        """Click a place of the window."""
        for kind in ('mousePressed', 'mouseReleased'):
            self.send('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left',
                      clickCount=1)

    def picture(self, path: Path) -> None:
        """Write what the page looks like."""
        import base64
        path.write_bytes(base64.b64decode(self.send('Page.captureScreenshot')['data']))
