# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The HTML page, live or with its data; it loads nothing from other hosts."""

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
"""Content security policy: only the contents of the page and its own web socket."""
LIBRARIES = ('numpy', 'scipy', 'opencv-python-headless', 'numba')


def about(source: str, config: PipelineConfig, live: bool, fps: float) -> dict[str, Any]:
    """Return the source, the settings and the versions, which the page shows."""
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
        The result of :func:`about`.
    moments : iterable of Moment
        The frames of the video; none for a live page, which receives them later.
    video : Path, optional
        An mp4 file with one frame per moment; without it the page is a live page.

    """
    data = {'about': dict(about), 'moments': [moment.document() for moment in moments]}
    encoded = '' if video is None else base64.b64encode(video.read_bytes()).decode('ascii')
    # The data must not end the script element that contains them.
    text = json.dumps(data, allow_nan=False).replace('<', '\\u003c')
    parts = {'@POLICY@': CONTENT_POLICY, '@DATA@': text, '@VIDEO@': encoded}
    return re.sub('|'.join(parts), lambda found: parts[found.group()], _template())


def need_video() -> None:
    """Raise an error if PyAV is missing, before the frames are processed."""
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
