# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

import subprocess
import sys

import pytest

import gdm_motion_seg


@pytest.mark.parametrize('name', gdm_motion_seg.__all__)
def test_every_public_name_can_be_imported_from_the_package(name):
    assert getattr(gdm_motion_seg, name).__name__ == name
    assert name in dir(gdm_motion_seg)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match='no_such_thing'):
        gdm_motion_seg.no_such_thing


def test_the_pipeline_works_where_there_is_no_ros():
    code = ('import sys; sys.modules["rclpy"] = None; import gdm_motion_seg, numpy;'
            'gdm_motion_seg.MotionPipeline().process(numpy.zeros((64, 64), "uint8"), 1);'
            'print([m for m in sys.modules if "rclpy." in m])')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '[]'


def test_importing_the_package_alone_loads_neither_opencv_nor_numba():
    code = 'import gdm_motion_seg, sys; print("cv2" in sys.modules, "numba" in sys.modules)'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ['False', 'False']
