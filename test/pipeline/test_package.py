# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

from importlib import import_module
from pathlib import Path
import re
import subprocess
import sys

import pytest

import gdm_motion_seg
from gdm_motion_seg import NodeConfig
from gdm_motion_seg.settings import Config, settings_of

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'python.md'


@pytest.mark.parametrize('name', gdm_motion_seg.__all__)
def test_every_public_name_can_be_imported_from_the_package(name):
    assert getattr(gdm_motion_seg, name).__name__ == name
    assert name in dir(gdm_motion_seg)


def test_every_class_of_settings_is_exported():
    def inside(kind):
        yield kind
        for field in kind.__dataclass_fields__.values():
            if isinstance(field.type, type) and issubclass(field.type, Config):
                yield from inside(field.type)

    kinds = {part.__name__ for kind in NodeConfig.__mro__ if kind not in (Config, object)
             for part in inside(kind)}
    assert kinds == {'NodeConfig', 'PipelineConfig', 'TrackingConfig', 'SegmentationConfig',
                     'GdmConfig'}
    assert kinds <= set(gdm_motion_seg.__all__)
    assert {name.rpartition('.')[0] for name in (s.name for s in settings_of(NodeConfig))} == {
        '', 'tracking', 'segmentation', 'segmentation.gdm'}


def test_the_page_about_python_documents_exactly_the_public_names():
    documented = re.findall(r'^::: ([\w.]+)$', PAGE.read_text(encoding='utf-8'), re.MULTILINE)
    assert {path.rpartition('.')[2] for path in documented} == set(gdm_motion_seg.__all__)
    for path in documented:
        module, _, name = path.rpartition('.')
        assert getattr(gdm_motion_seg, name) is getattr(import_module(module), name)


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


def test_the_pipeline_loads_nothing_that_only_comparisons_need():
    code = ('import gdm_motion_seg, sys; gdm_motion_seg.MotionPipeline;'
            'print({"sklearn", "pandas", "matplotlib", "scipy.stats"} & {*sys.modules})')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'set()'
