# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The exceptions of this package; the text of each is a sentence for the user."""


class GdmMotionSegError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(GdmMotionSegError, ValueError):
    """An argument, a file or a message cannot be used; the text names it and says why."""


class MissingDependencyError(GdmMotionSegError, ImportError):
    """An optional dependency is not installed; the text says how to install it."""
