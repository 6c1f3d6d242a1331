# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Disturbances of a running node: changes of settings, transitions, killed subscribers."""

from collections.abc import Callable
import os
from pathlib import Path
import subprocess
import sys
from typing import Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from gdm_motion_seg.errors import GdmMotionSegError
from gdm_motion_seg.ros.process import domain_environment, kill
from gdm_motion_seg_tools.ros.session import Session

TIMEOUT_S = 120.0
"""Time limit of a service, on a busy machine."""
ONCE = float('inf')
_LISTENER = """
import sys
from gdm_motion_seg_tools.ros.record import Recorder
from gdm_motion_seg_tools.ros.session import Session
with Session('listener', private=False) as session:
    Recorder(session.node, dict(zip(sys.argv[1::2], sys.argv[2::2])), keep=10)
    while True:
        input()
"""


class Disturbances:
    """
    Disturbances of one node; use it in a ``with`` statement.

    Parameters
    ----------
    session
        Session of the client.
    name
        Full name of the disturbed node.
    rng
        Chooses the values.

    """

    def __init__(self, session: Session, name: str, rng: np.random.Generator) -> None:
        """Begin without a listener."""
        self._session, self._name, self._rng = session, name, rng
        self._listener: subprocess.Popen[bytes] | None = None

    def actions(self) -> dict[str, Callable[[], None]]:
        """Return the disturbances by name."""
        return {'settings changed': self._change_settings,
                'bad settings refused': self._refuse_settings,
                'deactivated and activated': self._pause,
                'configured again': self._configure_again,
                'impossible transition': self._impossible_transition,
                'reset': self._reset,
                'listener killed': self._kill_listener}

    def close(self) -> None:
        """End the listener."""
        if self._listener is not None:
            kill(self._listener)
            self._listener = None

    def __enter__(self) -> 'Disturbances':
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the listener."""
        self.close()

    def _set(self, **values: Any) -> Any:
        parameters = [Parameter(name.replace('__', '.'), value=value).to_parameter_msg()
                      for name, value in values.items()]
        return self._session.call(
            SetParametersAtomically, f'{self._name}/set_parameters_atomically',
            SetParametersAtomically.Request(parameters=parameters), TIMEOUT_S).result

    def _change_settings(self) -> None:
        result = self._set(tracking__max_tracks=int(self._rng.integers(300, 600)),
                           jpeg_quality=int(self._rng.integers(1, 101)),
                           diagnostics_period_s=float(self._rng.uniform(0.2, 1.0)))
        _require(result.successful, f'settings were refused: {result.reason}')

    def _refuse_settings(self) -> None:
        for bad in ({'tracking__mask_path': '/' + 300 * 'x'}, {'tracking__max_tracks': 1},
                    {'jpeg_quality': 50, 'seed': 'seven'}):
            _require(not self._set(**bad).successful, f'{bad} was not refused')

    def _change_state(self, *labels: str) -> None:
        for label in labels:
            # By label and by id, because clients use both.
            number = getattr(Transition, f'TRANSITION_{label.upper()}')
            wanted = Transition(label=label) if self._rng.random() < 0.5 else Transition(id=number)
            response = self._session.call(
                ChangeState, f'{self._name}/change_state', ChangeState.Request(transition=wanted),
                TIMEOUT_S, ONCE)
            _require(response.success, f'{label} failed')

    def _pause(self) -> None:
        self._change_state('deactivate', 'activate')

    def _configure_again(self) -> None:
        self._change_state('deactivate', 'cleanup', 'configure', 'activate')

    def _impossible_transition(self) -> None:
        for wanted in (Transition(id=Transition.TRANSITION_CONFIGURE), Transition(label='cleanup'),
                       Transition(id=200)):
            response = self._session.call(
                ChangeState, f'{self._name}/change_state', ChangeState.Request(transition=wanted),
                TIMEOUT_S)
            _require(not response.success, f'{wanted} was not refused')

    def _reset(self) -> None:
        response = self._session.call(Trigger, f'{self._name}/reset', Trigger.Request(), TIMEOUT_S)
        _require(response.success, 'reset failed')

    def _kill_listener(self) -> None:
        """
        Kill a subscriber of the large outputs with SIGKILL, and start another.

        The subscriber does not use the Fast DDS profile of this package: it receives through the
        segment of the sender, and would leave its own segment of 64 MiB behind.
        """
        self.close()
        topics = [f'{self._name}/debug_image', 'sensor_msgs/msg/Image',
                  f'{self._name}/markers', 'visualization_msgs/msg/MarkerArray']
        tools = Path(__file__).resolve().parents[2]
        path = os.pathsep.join(filter(None, (str(tools), os.environ.get('PYTHONPATH', ''))))
        self._listener = subprocess.Popen(
            [sys.executable, '-c', _LISTENER, *topics], stdin=subprocess.PIPE,
            env={**os.environ, **domain_environment(), 'PYTHONPATH': path})


def _require(condition: bool, sentence: str) -> None:
    if not condition:
        raise GdmMotionSegError(sentence)
