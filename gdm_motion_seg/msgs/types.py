# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The message classes: those of ROS 2, or those of rosbags without ROS (``rosbags_types.py``).

Both have the same fields with the same names, so the same code builds both, and the serialised
bytes are the same. They differ in the type of ``uint8[]`` fields, which :class:`MessageTypes`
hides. rosbags also has no default values, so the code sets every field.
"""

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

from gdm_motion_seg.errors import MissingDependencyError

MESSAGES = (
    'builtin_interfaces/Time', 'builtin_interfaces/Duration', 'std_msgs/Header',
    'std_msgs/ColorRGBA', 'geometry_msgs/Point', 'geometry_msgs/Quaternion', 'geometry_msgs/Pose',
    'geometry_msgs/Vector3',
    'sensor_msgs/Image', 'sensor_msgs/CompressedImage', 'sensor_msgs/CameraInfo',
    'sensor_msgs/RegionOfInterest',
    'sensor_msgs/PointCloud2', 'sensor_msgs/PointField', 'visualization_msgs/Marker',
    'visualization_msgs/MarkerArray', 'visualization_msgs/MeshFile')


class MessageTypes:
    """The message classes of one implementation as attributes, for instance ``PointCloud2``."""

    def __init__(self, classes: dict[str, Any], octets: Callable[[Any], Any]) -> None:
        """``octets`` converts a contiguous buffer to the value of a ``uint8[]`` field."""
        self.octets = octets
        vars(self).update(classes)

    def __getattr__(self, name: str) -> Any:
        """Refuse the name of any other class."""
        raise AttributeError(f'no message class called {name!r}')


@lru_cache(maxsize=1)
def ros_types() -> MessageTypes:
    """Return the message classes of ROS 2, which must be installed."""
    from array import array

    def octets(buffer: Any) -> Any:
        # rclpy copies an array.array as a block, and anything else element by element.
        value = array('B')
        value.frombytes(buffer)
        return value

    classes = {}
    for full_name in MESSAGES:
        package, name = full_name.split('/')
        try:
            classes[name] = getattr(import_module(f'{package}.msg'), name)
        except ImportError:
            raise MissingDependencyError(
                f'the messages of {package} are not installed: source a ROS 2 setup file, or '
                "pip install 'gdm_motion_seg[jazzy]'") from None
    return MessageTypes(classes, octets)
