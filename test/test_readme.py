# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The README stays short."""

from pathlib import Path

README = Path(__file__).resolve().parent.parent / 'README.md'
MOST_WORDS = 900


def test_the_readme_has_at_most_900_words():
    assert len(README.read_text(encoding='utf-8').split()) <= MOST_WORDS
