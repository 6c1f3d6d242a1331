# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The permissions in the documentation are those that the node needs under SROS 2."""

from pathlib import Path
import re
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).resolve().parents[2] / 'docs' / 'ros.md'
NAME = '/motion_seg'
COMPRESSED = '/camera/image_raw/compressed'
"""The image topic where image_transport is compressed."""
REMAPPED = {'/image': '/camera/image_raw', '/camera_info': '/camera/camera_info'}


def documented():
    """Return the names in the policy, by what is allowed."""
    profile = re.search(r'<profile.*?</profile>', DOCS.read_text(encoding='utf-8'), re.S).group()
    tree = ElementTree.fromstring(re.sub(r'<xi:include[^>]*/>', '', profile))
    return {group.get('subscribe') and 'subscribe' or group.get('publish') and 'publish'
            or 'reply': {name.text.strip().replace('~', NAME) for name in group}
            for group in tree}


def test_the_policy_lists_what_an_active_node_uses():
    rclpy = pytest.importorskip('rclpy', reason='needs ROS 2 (rclpy)')
    from gdm_motion_seg.ros.node import MotionSegNode
    from gdm_motion_seg.ros.process import dds_here
    context = rclpy.Context()
    with dds_here():
        rclpy.init(context=context, args=[])
        node = MotionSegNode(context=context)
    try:
        node.trigger_configure()
        node.trigger_activate()
        used = {'publish': node.get_publisher_names_and_types_by_node('motion_seg', '/'),
                'subscribe': node.get_subscriber_names_and_types_by_node('motion_seg', '/'),
                'reply': node.get_service_names_and_types_by_node('motion_seg', '/')}
    finally:
        node.end(10.0)
        rclpy.shutdown(context=context)
    policy = documented()
    assert COMPRESSED in policy['subscribe']
    for kind, found in used.items():
        names = {REMAPPED.get(name, name) for name, _ in found}
        assert names <= policy[kind], kind
        # The clock is for use_sim_time; newer distributions have more services.
        assert policy[kind] - names <= {COMPRESSED, '/clock', '/parameter_events',
                                        f'{NAME}/get_type_description'}
