# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node's parameters, declared from the one declaration of its settings."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
import math

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.settings import Setting, settings_of, with_flat

_TYPES = {bool: Parameter.Type.BOOL, int: Parameter.Type.INTEGER, float: Parameter.Type.DOUBLE,
          str: Parameter.Type.STRING}
# What every node has beside its own parameters.
_STANDARD = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')


def descriptor_of(setting: Setting) -> ParameterDescriptor:
    """Describe one setting as a parameter: type, range, whether it can change, and what it is."""
    descriptor = ParameterDescriptor(
        name=setting.name, type=_TYPES[setting.type].value, read_only=not setting.runtime,
        description=setting.description + (f' Unit: {setting.unit}.' if setting.unit else ''))
    if setting.choices:
        descriptor.additional_constraints = f'One of {setting.range_text}.'
    bounded = setting.low is not None or setting.high is not None
    if bounded and setting.type is int:
        descriptor.integer_range = [IntegerRange(
            from_value=-2**63 if setting.low is None else int(setting.low),
            to_value=2**63 - 1 if setting.high is None else int(setting.high), step=0)]
    elif bounded and setting.type is float:
        descriptor.floating_point_range = [FloatingPointRange(
            from_value=-math.inf if setting.low is None else float(setting.low),
            to_value=math.inf if setting.high is None else float(setting.high), step=0.0)]
    return descriptor


class Parameters:
    """
    The parameters of a node and the configuration that they make.

    A change is checked as a whole before anything of it is taken, and refused with a reason.
    """

    def __init__(self, node: Node, changed: Callable[[NodeConfig], None],
                 check: Callable[[NodeConfig], None]) -> None:
        """
        Declare them all; raises InputError if a value from the command line or a file is no good.

        Parameters
        ----------
        node
            The node.
        changed
            Called with the new configuration after a change.
        check
            Raises InputError for what no range can express, such as a file that is not there.

        """
        self._changed = changed
        self._check = check
        settings = settings_of(NodeConfig)
        _refuse_unknown(node, {setting.name for setting in settings})
        values = {}
        for setting in settings:
            try:
                values[setting.name] = node.declare_parameter(
                    setting.name, setting.default, descriptor_of(setting)).value
            except (InvalidParameterTypeException, InvalidParameterValueException):
                given = node._parameter_overrides[setting.name].value
                setting.check(given)
                raise InputError(f'{setting.name} cannot be {given!r}') from None
        self.config = with_flat(NodeConfig(), values)
        check(self.config)
        node.add_on_set_parameters_callback(self._try)
        node.add_post_set_parameters_callback(self._apply)

    def _try(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            self._check(self._with(parameters))
        except InputError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply(self, parameters: list[Parameter]) -> None:
        config = self._with(parameters)
        if config != self.config:
            self.config = config
            self._changed(config)

    def _with(self, parameters: Iterable[Parameter]) -> NodeConfig:
        return with_flat(self.config, {p.name: p.value for p in parameters
                                       if not p.name.startswith(_STANDARD)})


def _refuse_unknown(node: Node, known: set[str]) -> None:
    """ROS ignores a misspelt parameter in silence; a robot would then run with the default."""
    for name in node._parameter_overrides:
        if name not in known and not name.startswith(_STANDARD):
            near = get_close_matches(name, known, 1)
            hint = f'; did you mean {near[0]!r}?' if near else ''
            raise InputError(f'there is no parameter called {name!r}{hint}')
