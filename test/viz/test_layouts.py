# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The layouts of RViz and Foxglove are valid and agree with the node."""

import json
from pathlib import Path
import struct

import pytest
import yaml

CONFIG = Path(__file__).resolve().parents[2] / 'config'
TOPICS = {'/motion_seg/keypoints': 'sensor_msgs/msg/PointCloud2',
          '/motion_seg/motions': 'sensor_msgs/msg/PointCloud2',
          '/motion_seg/markers': 'visualization_msgs/msg/MarkerArray',
          '/motion_seg/debug_image': 'sensor_msgs/msg/Image',
          '/motion_seg/debug_image/compressed': 'sensor_msgs/msg/CompressedImage',
          '/diagnostics': 'diagnostic_msgs/msg/DiagnosticArray'}
# The classes that are used, and the messages that they take (plugins_description.xml of RViz).
DISPLAYS = {'rviz_default_plugins/Image': 'sensor_msgs/msg/Image',
            'rviz_default_plugins/PointCloud2': 'sensor_msgs/msg/PointCloud2',
            'rviz_default_plugins/MarkerArray': 'visualization_msgs/msg/MarkerArray',
            'rviz_default_plugins/Axes': None}
PANELS = {'rviz_common/Displays'}
TOOLS = {f'rviz_default_plugins/{name}' for name in
         ('MoveCamera', 'Select', 'FocusCamera', 'Measure')}
# Values that QosProfileProperty of RViz accepts.
QOS = {'History Policy': {'System Default', 'Keep Last', 'Keep All'},
       'Reliability Policy': {'System Default', 'Reliable', 'Best Effort'},
       'Durability Policy': {'System Default', 'Transient Local', 'Volatile'}}


@pytest.fixture(scope='module')
def rviz():
    """Return the layout of RViz."""
    return yaml.safe_load((CONFIG / 'motion_seg.rviz').read_text(encoding='utf-8'))


@pytest.fixture(scope='module')
def manager(rviz):
    """Return the part that holds the displays."""
    return rviz['Visualization Manager']


def test_rviz_knows_every_class_and_every_panel_has_a_name(rviz, manager):
    assert {panel['Class'] for panel in rviz['Panels']} == PANELS
    assert all(panel['Name'] for panel in rviz['Panels'])
    assert {display['Class'] for display in manager['Displays']} == set(DISPLAYS)
    assert {tool['Class'] for tool in manager['Tools']} <= TOOLS
    assert manager['Views']['Current']['Class'] == 'rviz_default_plugins/Orbit'


def test_every_display_takes_the_type_of_its_topic(manager):
    shown = set()
    for display in manager['Displays']:
        assert display['Enabled'] is True and display['Value'] is True and display['Name']
        if DISPLAYS[display['Class']] is None:
            continue
        topic = display['Topic']
        assert TOPICS[topic['Value']] == DISPLAYS[display['Class']]
        shown.add(topic['Value'])
    assert shown == {'/motion_seg/debug_image', '/motion_seg/keypoints', '/motion_seg/markers'}


def test_the_quality_of_service_of_every_display_is_known_and_matches_the_node(manager):
    for display in manager['Displays']:
        if 'Topic' not in display:
            continue
        for name, known in QOS.items():
            assert display['Topic'][name] in known
        # The node offers reliable and volatile; a display that requests more receives nothing.
        assert display['Topic']['Durability Policy'] == 'Volatile'
        # RViz draws all clouds that came since its last picture, one over the other.
        assert display['Topic']['Depth'] == 1


def test_frames_are_those_of_the_camera(manager):
    assert manager['Global Options']['Fixed Frame'] == 'camera'
    assert manager['Views']['Current']['Target Frame'] == '<Fixed Frame>'
    axes = next(d for d in manager['Displays'] if d['Class'].endswith('/Axes'))
    assert axes['Reference Frame'] == '<Fixed Frame>'


def test_both_hide_values_are_set_because_rviz_has_no_defaults_for_them(rviz):
    assert rviz['Window Geometry']['Hide Left Dock'] is False
    assert rviz['Window Geometry']['Hide Right Dock'] is False


LEFT_AREA = 1
"""Qt::LeftDockWidgetArea."""


class QtStream:
    """Reads what QDataStream wrote."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, layout):
        values = struct.unpack_from('>' + layout, self.data, self.at)
        self.at += struct.calcsize('>' + layout)
        return values if len(values) > 1 else values[0]

    def text(self):
        length = self.take('I')
        self.at += length
        return self.data[self.at - length:self.at].decode('utf-16-be')


def dock_sizes(state):
    """
    Read a saved state of QMainWindow: width and height of each dock widget, owners of corners.

    The corners are top left, top right, bottom left, bottom right; the owners are areas of Qt.
    """
    stream, sizes = QtStream(state), {}
    assert stream.take('ii') == (0xff, 0)
    assert stream.take('B') == 0xfd
    for _ in range(stream.take('i')):
        _, width, height = stream.take('iii')
        assert stream.take('B') == 0xfc
        orientation, count = stream.take('Bi')
        for _ in range(count):
            assert stream.take('B') == 0xfb
            name, visible = stream.text(), stream.take('B')
            _, length, _, _ = stream.take('iiii')
            assert visible == 1
            sizes[name] = (width, length) if orientation == 2 else (length, height)
    sizes['central'] = stream.take('ii')
    return sizes, stream.take('iiii')


def test_the_overlay_is_the_largest_part_of_the_window_and_every_panel_has_a_place(rviz, manager):
    window = rviz['Window Geometry']
    sizes, corners = dock_sizes(bytes.fromhex(window['QMainWindow State']))
    names = {panel['Name'] for panel in rviz['Panels']} | {
        d['Name'] for d in manager['Displays'] if d['Class'].endswith('/Image')}
    # Docks are found by their names; a panel without a place takes space from the others.
    assert set(sizes) == names | {'central'}
    width, height = sizes['Overlay']
    assert width >= 0.6 * window['Width'] and height >= 0.8 * window['Height']
    assert sizes['central'][0] >= 0.35 * window['Width']
    assert sizes['central'][1] >= 0.6 * window['Height']
    # The displays are below the 3D view: the overlay reaches down to the bottom left corner.
    assert sizes['Displays'][0] <= sizes['central'][0]
    assert corners[2] == LEFT_AREA


def test_the_displays_panel_shows_all_displays_and_no_empty_box_for_help(rviz):
    panel = next(p for p in rviz['Panels'] if p['Class'] == 'rviz_common/Displays')
    # RViz ignores one of the two heights without the other.
    assert panel['Help Height'] == 0 and panel['Tree Height'] > 0


@pytest.fixture(scope='module')
def foxglove():
    """Return the layout of Foxglove."""
    return json.loads((CONFIG / 'motion_seg_foxglove.json').read_text(encoding='utf-8'))


def places(node):
    """Yield the panels of a layout tree."""
    if isinstance(node, str):
        yield node
    else:
        assert node['direction'] in ('row', 'column')
        yield from places(node['first'])
        yield from places(node['second'])


def test_every_panel_of_foxglove_has_a_place_and_a_type_that_foxglove_has(foxglove):
    assert sorted(places(foxglove['layout'])) == sorted(foxglove['configById'])
    kinds = {name.split('!')[0] for name in foxglove['configById']}
    assert kinds <= {'Image', '3D', 'DiagnosticSummary', 'RawMessages'}


def test_every_topic_of_foxglove_is_one_of_the_node_in_a_type_that_is_drawn(foxglove):
    panels = foxglove['configById']
    image = panels['Image!overlay']['imageMode']['imageTopic']
    assert TOPICS[image] in ('sensor_msgs/msg/Image', 'sensor_msgs/msg/CompressedImage')
    drawn = {TOPICS[topic] for topic in panels['3D!bodies']['topics']}
    assert drawn == {'sensor_msgs/msg/PointCloud2', 'visualization_msgs/msg/MarkerArray'}
    assert panels['DiagnosticSummary!health']['topicToRender'] in TOPICS
