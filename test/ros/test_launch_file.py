# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The launch file: its arguments and its actions."""

import importlib.util
from pathlib import Path
import shlex

import pytest
import yaml

launch = pytest.importorskip('launch', reason='needs launch')
pytest.importorskip('launch_ros', reason='needs launch_ros')

LAUNCH_FILE = Path(__file__).resolve().parents[2] / 'launch' / 'motion_seg.launch.py'


@pytest.fixture
def module(monkeypatch):
    """Load the launch file, with the config of this checkout."""
    spec = importlib.util.spec_from_file_location('motion_seg_launch', LAUNCH_FILE)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    monkeypatch.setattr(loaded, 'get_package_share_directory',
                        lambda _: str(LAUNCH_FILE.parents[1]))
    return loaded


def actions_for(module, **given):
    """Return the actions of the launch file for some arguments."""
    context = launch.LaunchContext()
    context.launch_configurations.update(given)
    for entity in module.generate_launch_description().entities:
        if isinstance(entity, launch.actions.DeclareLaunchArgument):
            entity.visit(context)
    return context, module.start(context)


def test_every_argument_has_a_default_and_a_description(module):
    arguments = module.generate_launch_description().get_launch_arguments()
    names = {argument.name for argument in arguments}
    assert {'image', 'camera_info', 'params_file', 'namespace', 'bag', 'rviz', 'use_sim_time',
            'image_transport', 'log_level', 'fixed_frame'} <= names
    assert all(argument.default_value is not None for argument in arguments)
    assert all(argument.description.endswith('.') or 'Valid choices' in argument.description
               for argument in arguments)


def parameters_of(context, node):
    """Return the parameters of a node action, without files."""
    given = {}
    for parameters in node._Node__parameters:
        if isinstance(parameters, dict):
            for name, value in parameters.items():
                text = ''.join(part.perform(context) for part in name)
                given[text] = value if isinstance(value, bool) else yaml.safe_load(''.join(
                    part.perform(context) for part in value))
    return given


def test_by_default_only_the_node_is_started_by_the_wall_clock(module):
    context, actions = actions_for(module)
    nodes = [a for a in actions if isinstance(a, module.LifecycleNode)]
    assert len(nodes) == 1
    assert not any(type(a) is launch.actions.ExecuteProcess for a in actions)
    assert parameters_of(context, nodes[0]) == {'use_sim_time': False}


def test_a_bag_is_played_with_its_clock_and_without_a_shell(module, tmp_path):
    bag = tmp_path / 'a folder; rm -rf'
    bag.mkdir()
    context, actions = actions_for(module, bag=str(bag), bag_loop='true')
    player = next(a for a in actions if type(a) is launch.actions.ExecuteProcess)
    words = [''.join(part.perform(context) for part in word) for word in player.cmd]
    assert str(bag) in words
    assert {'--clock', '--loop', '--wait'} <= set(words)
    assert not player.shell
    node = next(a for a in actions if isinstance(a, module.LifecycleNode))
    assert parameters_of(context, node) == {'use_sim_time': True}


def test_arguments_override_the_parameter_file(module):
    context, actions = actions_for(module, image_transport='compressed', autostart='false')
    node = next(a for a in actions if isinstance(a, module.LifecycleNode))
    assert parameters_of(context, node) == {
        'use_sim_time': False, 'image_transport': 'compressed', 'autostart': False}


def test_the_fast_dds_profile_can_be_switched_off(module):
    def profiles(**given):
        return sum(isinstance(a, launch.actions.SetEnvironmentVariable)
                   for a in actions_for(module, **given)[1])

    assert (profiles(), profiles(fastdds_profile='false')) == (3, 0)


def test_the_topics_of_rviz_follow_the_namespace(module):
    context, actions = actions_for(module, rviz='true', namespace='/robot/', image='/cam')
    viewer = actions[-1]
    pairs = {tuple(''.join(part.perform(context) for part in side) for side in pair)
             for pair in viewer._Node__remappings}
    assert ('/motion_seg/keypoints', '/robot/motion_seg/keypoints') in pairs
    assert ('/motion_seg/debug_image', '/robot/motion_seg/debug_image') in pairs


def words_of(context, action):
    return [''.join(part.perform(context) for part in word) for word in action.cmd]


def test_the_bag_waits_for_this_node_and_does_not_play_its_old_answers(module, tmp_path):
    context, actions = actions_for(module, bag=str(tmp_path), namespace='robot/front')
    words = words_of(context, next(a for a in actions
                                   if type(a) is launch.actions.ExecuteProcess))
    assert words[words.index('--wait-for') + 1] == '/robot/front/motion_seg'
    assert words[words.index('--leave-out') + 1] == '/robot/front/motion_seg/keypoints'


def test_the_log_level_is_that_of_the_node_in_its_namespace(module):
    context, actions = actions_for(module, namespace='/robot/front', log_level='warn')
    node = next(a for a in actions if isinstance(a, module.LifecycleNode))
    assert 'robot.front.motion_seg:=warn' in str([
        [getattr(part, 'text', part) for part in word] if isinstance(word, list) else word
        for word in node._Node__ros_arguments])


def prefix_of(context, node):
    """Return the prefix of a node action."""
    found = node.process_description.prefix
    return shlex.split(''.join(part.perform(context) for part in found)) if found else []


def test_rviz_takes_its_fixed_frame_from_the_first_image_unless_it_is_given(module):
    context, actions = actions_for(module, rviz='true', namespace='robot', image='cam/image')
    assert prefix_of(context, actions[-1])[-2:] == ['gdm_motion_seg.ros.rviz', '/robot/cam/image']
    context, actions = actions_for(module, rviz='true', image='/cam', fixed_frame='left')
    assert '-m' not in prefix_of(context, actions[-1])
    # The first word is the program, which can be found only where RViz is installed.
    words = [''.join(part.perform(context) for part in word) for word in actions[-1].cmd[1:]]
    assert words[words.index('-f') + 1] == 'left'


def test_a_missing_file_bag_or_rviz_is_reported_before_anything_starts(module, monkeypatch):
    with pytest.raises(RuntimeError, match='bag: nothing does not exist'):
        actions_for(module, bag='nothing')
    with pytest.raises(RuntimeError, match='params_file: nothing.yaml does not exist'):
        actions_for(module, params_file='nothing.yaml')

    def share(package):
        if package == 'rviz2':
            raise module.PackageNotFoundError(package)
        return str(LAUNCH_FILE.parents[1])

    monkeypatch.setattr(module, 'get_package_share_directory', share)
    with pytest.raises(RuntimeError, match='rviz2, which is not installed'):
        actions_for(module, rviz='true')
