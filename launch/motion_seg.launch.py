# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Start the node motion_seg and, on request, a bag player and RViz.

ros2 launch gdm_motion_seg motion_seg.launch.py image:=/camera/image_raw
ros2 launch gdm_motion_seg motion_seg.launch.py image:=/camera/image_raw bag:=recording rviz:=true
"""

import os
import shlex
import sys

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError
from launch import LaunchDescription
from launch.actions import (DeclareLaunchArgument, ExecuteProcess, OpaqueFunction,
                            SetEnvironmentVariable)
from launch_ros.actions import LifecycleNode, Node

PACKAGE = 'gdm_motion_seg'
NODE = 'motion_seg'
OUTPUTS = ('keypoints', 'motions', 'markers', 'debug_image', 'debug_image/compressed', 'mask',
           'instances', 'detections')
YES_NO = ('true', 'false')
BY_ITSELF = ''


def config_file(name):
    """Return the path of a file in the package's config folder."""
    return os.path.join(get_package_share_directory(PACKAGE), 'config', name)


def argument(name, default, description, choices=None):
    """Declare an argument; ``--show-args`` lists all of them."""
    return DeclareLaunchArgument(name, default_value=default, description=description,
                                 choices=choices)


def generate_launch_description():
    """Return the arguments and the actions."""
    return LaunchDescription([
        argument('image', 'image', 'Topic of the images (without /compressed).'),
        argument('camera_info', 'camera_info', 'Topic of the calibration (optional).'),
        argument('params_file', config_file('motion_seg.yaml'),
                 'YAML file with the parameters of the node.'),
        argument('namespace', '', 'Namespace of the node.'),
        argument('image_transport', BY_ITSELF,
                 'raw or compressed; if empty, as in the parameter file.',
                 (BY_ITSELF, 'raw', 'compressed')),
        argument('autostart', BY_ITSELF,
                 'Whether the node activates itself; if empty, as in the parameter file.',
                 (BY_ITSELF, *YES_NO)),
        argument('use_sim_time', BY_ITSELF,
                 'Whether to follow /clock; if empty, only if a bag is played.',
                 (BY_ITSELF, *YES_NO)),
        argument('bag', '', 'A rosbag2 to play, with /clock, when the node has subscribed; '
                 'recorded outputs of this node are left out.'),
        argument('bag_rate', '1.0', 'Speed of the bag.'),
        argument('bag_loop', 'false', 'Whether to play the bag in a loop.', YES_NO),
        argument('rviz', 'false', 'Whether to start RViz with its layout.', YES_NO),
        argument('fixed_frame', BY_ITSELF,
                 'Fixed frame of RViz; if empty, the frame_id of the first image.'),
        argument('fastdds_profile', 'true',
                 'Whether Fast DDS uses config/fastdds.xml, with enough shared memory for '
                 'images. Other middleware ignores it.', YES_NO),
        argument('log_level', 'info', 'Log level of the node.',
                 ('debug', 'info', 'warn', 'error', 'fatal')),
        OpaqueFunction(function=start)])


def start(context):
    """Return the actions for the values of the arguments."""
    value = context.launch_configurations
    # launch would only warn, and start the node with defaults.
    if not os.path.isfile(value['params_file']):
        raise RuntimeError(f'params_file: {value["params_file"]} does not exist')
    if value['bag'] and not os.path.exists(value['bag']):
        raise RuntimeError(f'bag: {value["bag"]} does not exist')
    sim_time = value['use_sim_time'] or str(bool(value['bag'])).lower()
    actions = []
    if value['fastdds_profile'] == 'true':
        actions += [SetEnvironmentVariable(name, config_file('fastdds.xml')) for name in
                    ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')]
        actions.append(SetEnvironmentVariable('RMW_FASTRTPS_USE_QOS_FROM_XML', '1'))
    actions.append(motion_seg(value, sim_time))
    if value['bag']:
        actions.append(bag_player(value))
    if value['rviz'] == 'true':
        actions.append(rviz(value, sim_time))
    return actions


def full_name(value, *names):
    """Return a name in the namespace of the arguments."""
    return '/'.join(('', *filter(None, value['namespace'].split('/')), *names))


def motion_seg(value, sim_time):
    """Return the node."""
    given = {name: value[name] for name in ('image_transport',) if value[name]}
    if value['autostart']:
        given['autostart'] = value['autostart'] == 'true'
    return LifecycleNode(
        package=PACKAGE, executable='motion_seg_node', name=NODE, namespace=value['namespace'],
        output='screen',
        parameters=[value['params_file'], {'use_sim_time': sim_time == 'true', **given}],
        remappings=[('image', value['image']), ('camera_info', value['camera_info'])],
        # The name of a logger is the full name of its node, with dots.
        ros_arguments=['--log-level', f'{full_name(value, NODE)[1:].replace("/", ".")}:='
                       f'{value["log_level"]}'])


def bag_player(value):
    """Return the bag player of this package, which waits for the node."""
    node = full_name(value, NODE)
    # A long timeout: at its first start the node compiles before it subscribes.
    command = [sys.executable, '-m', PACKAGE, 'replay', value['bag'], '--clock', '--wait', '1200',
               '--rate', value['bag_rate'], '--wait-for', node]
    for name in OUTPUTS:
        command += ['--leave-out', f'{node}/{name}']
    if value['bag_loop'] == 'true':
        command.append('--loop')
    return ExecuteProcess(cmd=command, name='replay', output='screen')


def rviz(value, sim_time):
    """Return RViz; its topics follow the namespace and the image topic."""
    try:
        get_package_share_directory('rviz2')
    except PackageNotFoundError:
        # Check it before anything runs: launch would start the node without RViz.
        raise RuntimeError('rviz:=true needs the package rviz2, which is not installed') from None
    node = full_name(value, NODE)
    image = value['image']
    image = image if image.startswith('/') else full_name(value, image)
    chosen = value['fixed_frame']
    # The frame of the images is known when the first one comes; RViz waits for it.
    wait = ' '.join(map(shlex.quote, (sys.executable, '-m', f'{PACKAGE}.ros.rviz', image)))
    return Node(
        package='rviz2', executable='rviz2', output='screen', prefix=None if chosen else wait,
        arguments=['-d', config_file('motion_seg.rviz'), *(('-f', chosen) if chosen else ())],
        parameters=[{'use_sim_time': sim_time == 'true'}],
        remappings=[(f'/{NODE}/{name}', f'{node}/{name}') for name in OUTPUTS])
