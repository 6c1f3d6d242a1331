# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The report: a page over all recordings, and one for each of them.

Pages have no scripts, and load no fonts or pictures from elsewhere.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape
from typing import TYPE_CHECKING

from gdm_motion_seg.viz.colors import motion_rgb

if TYPE_CHECKING:
    from gdm_motion_seg.batch.results import Span, Summary

SHOWN_SPANS = 200
"""Largest number of spans on a page; the data set has all."""
SHOWN_BODIES = 40
"""Largest number of bodies in a timeline; those that were seen longest are shown."""
_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem;
       padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; width: 100%; }
th, td { border-bottom: 1px solid #8884; padding: 0.25rem 0.6rem; text-align: right; }
th:first-child, td:first-child, .text { text-align: left; }
svg { background: #8882; display: block; }
.note { color: #888; } .failed { color: #c33; }
"""


@dataclass(frozen=True)
class Totals:
    """Totals of a run of the command."""

    run: str
    wall_seconds: float
    workers: int
    computed: int
    """Number of recordings that this run computed; the others were finished before."""
    failures: Mapping[str, str]
    """Reason by the name of the recording."""
    settings: str
    code: str


def overview_page(summaries: Sequence['Summary'], totals: Totals) -> str:
    """Return the page over all recordings."""
    frames = sum(s.frames for s in summaries)
    seconds = sum(s.seconds for s in summaries)
    busy = sum(s.compute_seconds for s in summaries)
    facts = {
        'recordings': f'{len(summaries)} finished, {len(totals.failures)} failed, '
                      f'{totals.computed} computed by this run',
        'duration': f'{_duration(seconds)} in {frames} frames',
        'something moved for': _share(sum(s.moving_seconds for s in summaries), seconds),
        'throughput': f'{frames / busy if busy else 0.0:.1f} frames per second and worker',
        'this run': f'{_duration(totals.wall_seconds)} on {totals.workers} workers',
    }
    parts = [_facts(facts)]
    outdated = sum((s.settings, s.code) != (totals.settings, totals.code) for s in summaries)
    if outdated:
        parts.append(f'<p class="failed">{outdated} recordings were computed by earlier runs with '
                     'other settings or another version.</p>')
    if totals.failures:
        parts += ['<h2>Failures</h2>', _table(('recording', 'reason'), (
            (escape(name), f'<span class="failed">{escape(reason)}</span>')
            for name, reason in sorted(totals.failures.items())), text=2)]
    parts += ['<h2>Recordings</h2>', _table(
        ('recording', 'when something moved', 'duration', 'frames', 'bodies', 'moved for',
         'frames per second'), map(_overview_row, summaries), text=2)]
    everywhere = [(s, span) for s in summaries for span in s.spans]
    parts += _moments(sorted(everywhere, key=lambda pair: pair[1].start - pair[1].stop), True)
    return _page(f'Motions in {len(summaries)} recordings', parts,
                 f'run {escape(totals.run)}, version {escape(totals.code)}')


def recording_page(summary: 'Summary') -> str:
    """Return the page of one recording."""
    begin = datetime.fromtimestamp(summary.first_stamp / 1e9, timezone.utc)
    facts = {
        'source': escape(summary.url),
        'first frame': f'{begin:%Y-%m-%d %H:%M:%S} UTC',
        'duration': f'{_duration(summary.seconds)} in {summary.frames} frames of '
                    f'{summary.width} x {summary.height} pixels',
        'something moved for': _share(summary.moving_seconds, summary.seconds),
        'bodies': str(summary.bodies),
        'computed': f'in {_duration(summary.compute_seconds)} of one worker, '
                    + (f'{summary.parts} parts' if summary.parts > 1 else 'one piece'),
    }
    if summary.skipped:
        facts['left out'] = f'{summary.skipped} frames that could not be decoded'
    parts = [_facts(facts), '<h2>Bodies over time</h2>', _timeline(summary),
             *_moments([(summary, span) for span in summary.spans], False),
             '<p><a href="../report.html">all recordings</a></p>']
    return _page(summary.name, parts, f'version {escape(summary.code)}')


def _overview_row(summary: 'Summary') -> tuple[str, ...]:
    rate = summary.frames / summary.compute_seconds if summary.compute_seconds else 0.0
    return (_link(summary.name), _strip(summary), _duration(summary.seconds), str(summary.frames),
            str(summary.bodies), _share(summary.moving_seconds, summary.seconds), f'{rate:.1f}')


def _moments(pairs: Sequence[tuple['Summary', 'Span']], named: bool) -> list[str]:
    """Return the table of bodies: where, when and how long."""
    shown = pairs[:SHOWN_SPANS]
    rows = ((*((_link(s.name),) if named else ()), f'{span.start:.2f} s',
             f'{span.stop - span.start:.2f} s', f'{span.body}', f'{span.count:.0f}',
             f'{span.moving:.2f}', _where(s, span)) for s, span in shown)
    columns = (*(('recording',) if named else ()), 'from', 'for', 'body', 'keypoints', 'moving',
               'where')
    title = f'<h2>What moved{", longest first" if named else ""}</h2>'
    if not pairs:
        return [title, '<p>Nothing was seen to move.</p>']
    left_out = len(pairs) - len(shown)
    note = f'<p class="note">{left_out} more are in the data set.</p>' if left_out else ''
    return [title, _table(columns, rows), note]


def _timeline(summary: 'Summary') -> str:
    """Draw the times at which each body was seen."""
    seen: dict[int, float] = {}
    for span in summary.spans:
        seen[span.body] = seen.get(span.body, 0.0) + span.stop - span.start
    longest = sorted(seen, key=lambda body: (-seen[body], body))[:SHOWN_BODIES]
    if not longest:
        return '<p>No body was seen.</p>'
    rows = {body: row for row, body in enumerate(sorted(longest))}
    scale = 1000.0 / max(summary.seconds, 1e-9)
    bars = [f'<text x="0" y="{18 * row + 13}" font-size="12" fill="currentColor">{body}</text>'
            for body, row in rows.items()]
    bars += [_bar(span, 60 + scale * span.start, 18 * rows[span.body] + 3, scale, 12)
             for span in summary.spans if span.body in rows]
    height = 18 * len(rows) + 4
    return (f'<svg viewBox="0 0 1065 {height}" width="100%" role="img" aria-label="Bodies over '
            f'time">{"".join(bars)}</svg><p class="note">from 0 to {summary.seconds:.1f} s; '
            'each row is a body</p>')


def _strip(summary: 'Summary') -> str:
    """Draw the times at which any body was seen, in one line."""
    scale = 240.0 / max(summary.seconds, 1e-9)
    bars = ''.join(_bar(span, scale * span.start, 2, scale, 10) for span in summary.spans)
    return f'<svg viewBox="0 0 240 14" width="240" height="14">{bars}</svg>'


def _bar(span: 'Span', x: float, y: float, scale: float, height: int) -> str:
    color = motion_rgb(span.body)
    width = max(1.5, scale * (span.stop - span.start))
    return (f'<rect x="{x:.1f}" y="{y:.0f}" width="{width:.1f}" height="{height}" '
            f'fill="rgb{color}" fill-opacity="{0.3 + 0.7 * span.moving:.2f}">'
            f'<title>body {span.body}, {span.start:.2f} to {span.stop:.2f} s</title></rect>')


def _where(summary: 'Summary', span: 'Span') -> str:
    """Draw the mean box of a body in the image."""
    scale = 64.0 / max(summary.width, 1)
    left, top, right, bottom = (scale * value for value in span.box)
    color = motion_rgb(span.body)
    return (f'<svg width="64" height="{scale * summary.height:.0f}" style="float: right">'
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 1.0):.1f}" '
            f'height="{max(bottom - top, 1.0):.1f}" fill="rgb{color}"/></svg>')


def _facts(facts: Mapping[str, str]) -> str:
    return _table((), ((name, value) for name, value in facts.items()), text=2)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], text: int = 1) -> str:
    """Return a table; the first columns hold text, the others numbers."""
    def cells(values: Sequence[str], tag: str) -> str:
        return ''.join(f'<{tag}{" class=text" if i < text else ""}>{value}</{tag}>'
                       for i, value in enumerate(values))
    head = f'<tr>{cells(columns, "th")}</tr>' if columns else ''
    return '<table>' + head + ''.join(f'<tr>{cells(row, "td")}</tr>' for row in rows) + '</table>'


def _link(name: str) -> str:
    return f'<a href="pages/{escape(name)}.html">{escape(name)}</a>'


def _share(seconds: float, total: float) -> str:
    return f'{_duration(seconds)} ({seconds / total if total else 0.0:.0%})'


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f'{seconds:.1f} s'
    minutes, _ = divmod(round(seconds), 60)
    return f'{minutes} min' if minutes < 120 else f'{minutes // 60} h {minutes % 60} min'


def _page(title: str, parts: Iterable[str], foot: str) -> str:
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<title>{escape(title)}</title><style>{_STYLE}</style></head><body>'
            f'<h1>{escape(title)}</h1>\n' + '\n'.join(parts)
            + f'\n<p class="note">gdm_motion_seg, {foot}</p></body></html>\n')
