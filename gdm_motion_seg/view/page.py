# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page, live or with everything in it: one file of HTML that loads nothing from anywhere."""

import base64
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import metadata, resources
import json
from pathlib import Path
import platform
import re
from typing import Any

from gdm_motion_seg import __version__
from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg.io.videos import plays_in_browsers
from gdm_motion_seg.pipeline import PipelineConfig
from gdm_motion_seg.settings import to_flat
from gdm_motion_seg.view.moments import Moment

CONTENT_POLICY = ("default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                  "img-src blob: data:; media-src blob: data:; connect-src 'self'")
"""What the browser may load: what the page holds, and the stream that it came with."""
LIBRARIES = ('numpy', 'scipy', 'opencv-python-headless', 'numba')


def about(source: str, config: PipelineConfig, live: bool, fps: float) -> dict[str, Any]:
    """Return what a page says about itself: the source, the settings and the versions."""
    return {'source': source, 'live': live, 'fps': fps, 'settings': to_flat(config),
            'versions': {'gdm_motion_seg': __version__, 'Python': platform.python_version(),
                         **_versions()}}


def page(about: Mapping[str, Any], moments: Iterable[Moment] = (), video: Path | None = None
         ) -> str:
    """
    Return the page.

    Parameters
    ----------
    about : mapping
        As :func:`about` returns it.
    moments : iterable of Moment
        The frames of the video; none for a live page, which gets them as they come.
    video : Path, optional
        An mp4 that browsers play, one frame for each moment; the page is live without.

    """
    data = {'about': dict(about), 'moments': [moment.document() for moment in moments]}
    encoded = '' if video is None else base64.b64encode(video.read_bytes()).decode('ascii')
    # Nothing within the data may end the script element that holds it.
    text = json.dumps(data, allow_nan=False).replace('<', '\\u003c')
    parts = {'@POLICY@': CONTENT_POLICY, '@DATA@': text, '@VIDEO@': encoded}
    return re.sub('|'.join(parts), lambda found: parts[found.group()], _template())


def need_video() -> None:
    """Say what is missing before a page with a video is made; not after an hour of work."""
    if not plays_in_browsers():
        raise MissingDependencyError('a page with a video needs PyAV with H.264: pip install '
                                     "'gdm_motion_seg[view]'")


@lru_cache(maxsize=1)
def _template() -> str:
    return resources.files('gdm_motion_seg.view').joinpath('page.html').read_text('utf-8')


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return found
