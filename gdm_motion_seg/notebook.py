# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Display of a result in Python: repr, table for notebooks, data frame, plot."""

from html import escape
from typing import Any, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.errors import MissingDependencyError
from gdm_motion_seg.geometry.correspondences import Correspondences
from gdm_motion_seg.segmentation.result import Motion, MotionSegmentation, WORLD

if TYPE_CHECKING:
    import pandas

    from gdm_motion_seg.pipeline import FrameResult

WORLD_COLOUR, WRONG_COLOUR = '0.6', 'black'
"""Colours of static and of wrong tracks in a plot."""


def track_columns(pair: Correspondences, answer: MotionSegmentation
                  ) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a table of tracks; an unknown residual is NaN."""
    words = np.array(('world', 'body', 'wrong match'))
    return {
        'track_id': pair.ids, 'u': pair.x2[:, 0], 'v': pair.x2[:, 1],
        'u_prev': pair.x1[:, 0], 'v_prev': pair.x1[:, 1], 'label': answer.labels,
        'what': words[np.where(answer.labels < WORLD, 2, answer.labels > WORLD)],
        'world': answer.labels == WORLD, 'moving': answer.moving,
        'residual': np.where(np.isfinite(answer.residuals), answer.residuals, np.nan)}


def as_text(result: 'FrameResult') -> str:
    """Return one line that says what moves."""
    if not result.segmentation.motions:
        return f'<no result at {result.stamp / 1e9:.3f} s: {result.reason}>'
    bodies = [m for m in result.segmentation.motions if not m.is_world]
    what = ', '.join(f'body {m.id} ({m.count} tracks)' for m in bodies) or 'nothing'
    return (f'<{len(result.correspondences)} tracks at {result.stamp / 1e9:.3f} s: {what} '
            f'{"move" if len(bodies) > 1 else "moves"}>')


def as_html(result: 'FrameResult') -> str:
    """Return the motions as an HTML table."""
    head = ''.join(f'<th>{name}</th>' for name in _COLUMNS)
    rows = ''.join('<tr>' + ''.join(f'<td>{escape(text)}</td>' for text in _cells(m)) + '</tr>'
                   for m in result.segmentation.motions)
    return f'<p>{escape(as_text(result))}</p><table><tr>{head}</tr>{rows}</table>'


def to_dataframe(result: 'FrameResult') -> 'pandas.DataFrame':
    """Return a pandas.DataFrame with one row per track; needs pandas."""
    try:
        import pandas
    except ImportError:
        raise MissingDependencyError('to_dataframe needs pandas: pip install pandas') from None
    return pandas.DataFrame(track_columns(result.correspondences, result.segmentation))


def plot(result: 'FrameResult', image: Any, axes: Any) -> Any:
    """Plot the tracks and their flow, bodies in colours; needs matplotlib."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingDependencyError('plot needs matplotlib: pip install matplotlib') from None
    axes = pyplot.subplots()[1] if axes is None else axes
    pair, labels = result.correspondences, result.segmentation.labels
    if image is not None:
        picture = np.asarray(image)
        axes.imshow(picture if picture.ndim == 2 else picture[..., 2::-1], cmap='gray')
    flow = pair.x2 - pair.x1
    for label in np.unique(labels).tolist():
        mine = labels == label
        colour = (WRONG_COLOUR if label < 0 else WORLD_COLOUR if label == 0
                  else f'C{label % 10}')
        name = 'wrong' if label < 0 else 'world' if label == 0 else f'body {label}'
        axes.quiver(*pair.x1[mine].T, *flow[mine].T, color=colour, angles='xy', label=name,
                    scale_units='xy', scale=1.0, width=0.002)
    axes.set_xlim(0, pair.image_size[0])
    axes.set_ylim(pair.image_size[1], 0)
    axes.set_aspect('equal')
    axes.legend(loc='upper right')
    return axes


_COLUMNS = ('id', 'what', 'tracks', 'moving', 'kind', 'box', 'residual (px)')


def _cells(motion: Motion) -> tuple[str, ...]:
    return (str(motion.id), 'world' if motion.is_world else 'body', str(motion.count),
            f'{motion.moving:.2f}', motion.kind.value,
            ', '.join(f'{v:.0f}' for v in motion.box), f'{motion.residual:.2f}')
