# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The node's parameters, generated from the declaration of its settings."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.ros.config import NodeConfig
from gdm_motion_seg.ros.services import in_thread, make_async, ServiceCallback
from gdm_motion_seg.settings import Setting, settings_of, with_flat

_TYPES = {bool: Parameter.Type.BOOL, int: Parameter.Type.INTEGER, float: Parameter.Type.DOUBLE,
          str: Parameter.Type.STRING}
MASK_PATH = 'tracking.mask_path'
# Parameters that every node has.
_STANDARD = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')


def descriptor_of(setting: Setting) -> ParameterDescriptor:
    """Return the descriptor of a setting: type, range, description, read-only or not."""
    descriptor = ParameterDescriptor(
        name=setting.name, type=_TYPES[setting.type].value, read_only=not setting.runtime,
        description=setting.description + (f' Unit: {setting.unit}.' if setting.unit else ''))
    if setting.choices:
        descriptor.additional_constraints = f'One of {setting.range_text}.'
    if setting.type is int:
        descriptor.integer_range = [IntegerRange(
            from_value=int(setting.low), to_value=int(setting.high), step=0)]
    elif setting.type is float:
        descriptor.floating_point_range = [FloatingPointRange(
            from_value=float(setting.low), to_value=float(setting.high), step=0.0)]
    return descriptor


class Parameters:
    """
    The parameters of a node and the configuration that they make.

    A change is checked as a whole before it is applied, and is refused with a reason; after it,
    ``changed`` is called with the new configuration. A mask file is read once, before the change
    is applied, in a separate thread, so that the node answers other requests meanwhile.
    """

    def __init__(self, node: Node, changed: Callable[[NodeConfig], None]) -> None:
        """Declare all parameters; raises InputError if a given value is invalid."""
        self._changed = changed
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
        if path := self.config.tracking.mask_path:
            from gdm_motion_seg.tracking.mask_file import check_mask
            check_mask(path)
        node.add_on_set_parameters_callback(self._try)
        node.add_post_set_parameters_callback(self._apply)
        for name in ('set_parameters', 'set_parameters_atomically'):
            make_async(node, name, partial(self._with_masks_open, node))

    async def _with_masks_open(self, node: Node, callback: ServiceCallback, request: Any,
                               response: Any) -> Any:
        """Read the mask files of a request in another thread, and then handle the request."""
        paths = {parameter.value.string_value for parameter in request.parameters
                 if parameter.name == MASK_PATH} - {''}
        try:
            for path in paths:
                from gdm_motion_seg.tracking.mask_file import open_mask
                await in_thread(node, partial(open_mask, path))
            return callback(request, response)
        except Exception as error:
            # Without a response the client would wait forever.
            return _refusal(request, type(response)(), f'{type(error).__name__}: {error}')

    def _try(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            if path := self._with(parameters).tracking.mask_path:
                from gdm_motion_seg.tracking.mask_file import check_mask
                check_mask(path, self.config.tracking.mask_path)
        except InputError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply(self, parameters: list[Parameter]) -> None:
        config = self._with(parameters)
        if config == self.config:
            return
        old, path = self.config.tracking.mask_path, config.tracking.mask_path
        if old and old != path:
            from gdm_motion_seg.tracking.mask_file import keep_masks
            keep_masks({path})
        self.config = config
        self._changed(config)

    def _with(self, parameters: Iterable[Parameter]) -> NodeConfig:
        return with_flat(self.config, {p.name: p.value for p in parameters
                                       if not p.name.startswith(_STANDARD)})


def _refusal(request: Any, response: Any, reason: str) -> Any:
    """Fill in the response to a request that is refused as a whole."""
    result = SetParametersResult(successful=False, reason=reason)
    if hasattr(response, 'results'):
        response.results = [result for _ in request.parameters]
    else:
        response.result = result
    return response


def _refuse_unknown(node: Node, known: set[str]) -> None:
    """Refuse an unknown parameter, and warn about a parameter of an earlier version."""
    # ROS silently ignores both, and the robot would run with the default.
    for name in node._parameter_overrides:
        if name in known or name.startswith(_STANDARD):
            continue
        from gdm_motion_seg.ros.removed import why_removed  # for old parameter files alone
        if reason := why_removed(name):
            node.get_logger().warning(f'{reason}; its value is ignored')
        else:
            near = get_close_matches(name, known, 1)
            hint = f'; did you mean {near[0]!r}?' if near else ''
            raise InputError(f'there is no parameter called {name!r}{hint}')
