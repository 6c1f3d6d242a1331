# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

from dataclasses import replace
import json

import numpy as np
import pytest
from sights import result_at

from gdm_motion_seg.msgs.results import keypoint_rows, motion_rows
from gdm_motion_seg.view.moments import css_colour, moment_from_rows, moment_of
from gdm_motion_seg.viz.colors import motion_rgb


def test_a_moment_has_every_body_with_its_speed_and_not_the_world():
    moment = moment_of(result_at(3), latency_ms=7.25)
    assert [body.id for body in moment.bodies] == [1, 2]
    body = moment.bodies[0]
    assert body.speed == pytest.approx(20.0)
    assert body.box == (33.0, 40.0, 53.0, 60.0)
    assert (body.count, body.kind, moment.world, moment.outliers) == (4, 'planar', 2, 0)


def test_what_the_node_publishes_gives_the_same_moment():
    result = result_at(3)
    rows = keypoint_rows(result, np.ones((len(result.labels), 3)))
    flow = np.column_stack((rows['u'] - rows['u_prev'], rows['v'] - rows['v_prev']))
    seen = moment_from_rows(result.stamp, (160, 120), motion_rows(result), rows['label'], flow)
    assert seen == moment_of(result)


def test_a_moment_becomes_json_without_nan():
    empty = replace(result_at(0, bodies=()), reason='waiting')
    document = json.loads(json.dumps(moment_of(empty).document(), allow_nan=False))
    assert document['bodies'] == [] and document['latency'] is None
    assert document['reason'] == 'waiting'


def test_colours_are_those_of_the_overlay():
    assert css_colour(3) == '#%02x%02x%02x' % motion_rgb(3)
