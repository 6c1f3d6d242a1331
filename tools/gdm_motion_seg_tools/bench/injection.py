# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Faults put into a bag while it is played; no ROS in here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from queue import SimpleQueue
import time
from typing import Any

import numpy as np

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.io.bags import CAMERA_INFO, COMPRESSED, IMAGE, typestore
from gdm_motion_seg.msgs.clouds import stamp_of
from gdm_motion_seg.msgs.images import decode_compressed, decode_image
from gdm_motion_seg.msgs.rosbags_types import rosbags_types
from gdm_motion_seg_tools.bench.faults import (
    CAMERA_INFO_FAULTS, COMPRESSED_FAULTS, Fault, IMAGE_FAULTS, Moment)

GOOD_FRAMES = (18, 30)
"""Good frames between two faults, at least and below: at 15 Hz, 1.2 to 2 seconds."""
PATIENCE_S = 15.0
"""Longest wait for a right result before the next fault."""
LONG_PATIENCE_S = 60.0
"""Longest wait for any result."""
LOOK_EVERY = 4
"""Number of good frames between two checks for a result."""
BAD_INFOS = 10
"""How often a wrong calibration is sent; the next right one would correct a single one."""
NOTHING = 'none'
"""Name of the time before the first fault."""
ACTION = 'action'
"""Replaces the message type for faults that are not messages."""
FAULTS: dict[str, dict[str, tuple[Fault, ...]]] = {
    'raw': {IMAGE: IMAGE_FAULTS, CAMERA_INFO: CAMERA_INFO_FAULTS},
    'compressed': {COMPRESSED: COMPRESSED_FAULTS, CAMERA_INFO: CAMERA_INFO_FAULTS}}
"""Transport of the images to the faults of each type of message."""


@dataclass
class Aftermath:
    """The good frames from the end of one fault to the beginning of the next."""

    fault: str
    since: float
    """When the last message of the fault was published (time.monotonic)."""
    stamps: set[int] = field(default_factory=set)
    """Stamps of the good frames."""


class FaultInjector:
    """
    Replaces messages of a bag by faults; what a BagPlayer takes as ``transform``.

    Each fault comes once in a round, in a new random order every round. ``finished`` receives the
    aftermath of each.

    Parameters
    ----------
    transport
        Of the images: raw or compressed.
    image_topic
        Topic of the images in the bag; the other one is camera_info.
    period
        Time between two frames in nanoseconds.
    recovered
        Returns whether the node has answered the good frames of an aftermath, and whether
        correctly.
    rng
        Chooses faults and their times.
    actions
        Other things done to the node, by name; they are injected like faults.

    """

    def __init__(self, transport: str, image_topic: str, period: int,
                 recovered: Callable[[Aftermath], tuple[bool, bool]], rng: np.random.Generator,
                 actions: Mapping[str, Callable[[], None]] | None = None) -> None:
        """Begin with good frames."""
        self._kind = IMAGE if transport == 'raw' else COMPRESSED
        self._decode = decode_image if transport == 'raw' else decode_compressed
        self._actions = dict(actions or {})
        self._faults = [(kind, fault) for kind, faults in FAULTS[transport].items()
                        for fault in faults]
        self._faults += [(ACTION, Fault(name, lambda moment: [])) for name in self._actions]
        self.failed_actions: list[str] = []
        """What went wrong with actions."""
        self._image_topic, self._period, self._rng = image_topic, period, rng
        self._recovered = recovered
        self._round: list[tuple[str, Fault]] = []
        self._images: list[bytes] = []
        self._infos: list[bytes] = []
        self._good_left = self._pause()
        self._fault = NOTHING
        self._current = Aftermath(NOTHING, time.monotonic())
        self.finished: SimpleQueue[Aftermath] = SimpleQueue()
        self.good_frames = 0

    def __call__(self, topic: str, raw: bytes) -> list[bytes]:
        """Return what is published in the place of a message."""
        if topic != self._image_topic:
            return [self._infos.pop()] if self._infos else [bytes(raw)]
        if self._images:
            return [self._next_of_fault()]
        message = typestore().deserialize_cdr(raw, self._kind)
        if self._good_left == 0 and self._is_over():
            return self._begin_fault(message, raw)
        self._good_left = self._good_left - 1 if self._good_left else LOOK_EVERY
        return [self._good(message, raw)]

    def _is_over(self) -> bool:
        answered, right = self._recovered(self._current)
        passed = time.monotonic() - self._current.since
        return right or (answered and passed > PATIENCE_S) or passed > LONG_PATIENCE_S

    def _begin_fault(self, message: Any, raw: bytes) -> list[bytes]:
        self.finished.put(self._current)
        kind, fault = self._next_fault()
        self._fault, self._good_left = fault.name, self._pause()
        if kind == ACTION:
            self._act(fault.name)
            return [self._good(message, raw)]
        moment = Moment(rosbags_types(), np.asarray(self._decode(message), np.uint8),
                        stamp_of(message.header), self._period, message.header.frame_id, self._rng)
        faulty = [bytes(typestore().serialize_cdr(m, kind)) for m in fault.make(moment)]
        self._current = Aftermath(self._fault, time.monotonic())
        if kind == CAMERA_INFO:
            self._infos = faulty * BAD_INFOS
            return [self._good(message, raw)]
        self._images = faulty
        return [self._next_of_fault()] if faulty else []

    def _act(self, name: str) -> None:
        """Do something to the node; no image is sent meanwhile."""
        try:
            self._actions[name]()
        except (GdmMotionSegError, AssertionError) as error:
            self.failed_actions.append(f'{name}: {error}')
        self._current = Aftermath(name, time.monotonic())

    def _next_of_fault(self) -> bytes:
        """Return one faulty message for each message of the bag, so that none is dropped."""
        data = self._images.pop(0)
        if not self._images:
            self._current = Aftermath(self._fault, time.monotonic())
        return data

    def _good(self, message: Any, raw: bytes) -> bytes:
        self._current.stamps.add(stamp_of(message.header))
        self.good_frames += 1
        return bytes(raw)

    def _next_fault(self) -> tuple[str, Fault]:
        if not self._round:
            self._round = [self._faults[i] for i in self._rng.permutation(len(self._faults))]
        return self._round.pop()

    def _pause(self) -> int:
        return int(self._rng.integers(*GOOD_FRAMES))
