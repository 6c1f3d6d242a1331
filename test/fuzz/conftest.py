# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Counts of fuzz inputs: accepted and refused."""

from collections import Counter
from collections.abc import Callable, Iterator
import resource
from typing import Any

import pytest

from gdm_motion_seg.errors import GdmMotionSegError

TAKEN, REFUSED = 'fuzz inputs taken', 'fuzz inputs refused'
MOST_MEMORY = 2**30
"""Most bytes that an input of a few kilobytes may take."""


class Trial:
    """Passes inputs to a function; it may raise only errors of this package."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.counts: Counter[str] = Counter()

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the function's result, or None if it refused its input with a sentence."""
        try:
            result = function(*arguments)
        except GdmMotionSegError as error:
            assert str(error) and '\n' not in str(error)
            self.counts[REFUSED] += 1
            return None
        self.counts[TAKEN] += 1
        return result


def peak_memory() -> int:
    """Return the peak memory of this process in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.fixture()
def trial(request: pytest.FixtureRequest) -> Iterator[Trial]:
    """Return the counter of one test's inputs."""
    one, before = Trial(), peak_memory()
    yield one
    assert peak_memory() - before < MOST_MEMORY
    request.node.user_properties.extend(one.counts.items())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of inputs."""
    counts: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, 'when', '') == 'teardown':
                counts.update({name: value for name, value in report.user_properties
                               if name in (TAKEN, REFUSED)})
    if counts:
        terminalreporter.write_line(
            f'fuzzing: {sum(counts.values())} inputs, {counts[TAKEN]} of them taken and '
            f'{counts[REFUSED]} refused with a sentence')
