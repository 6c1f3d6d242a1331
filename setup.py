# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Package gdm_motion_seg for ament_python (colcon) and for pip alike."""

from glob import glob
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

NAME = 'gdm_motion_seg'
HERE = Path(__file__).parent
ROS_MESSAGES = ('sensor-msgs', 'std-msgs', 'std-srvs', 'geometry-msgs', 'visualization-msgs',
                'diagnostic-msgs', 'rosgraph-msgs', 'lifecycle-msgs')


def ros(distribution):
    """List the wheels that hold rclpy and the standard messages of one distribution."""
    return [f'ros-{distribution}-rclpy[fastrtps]',
            *(f'ros-{distribution}-{name}' for name in ROS_MESSAGES)]


BATCH = ['dask[distributed]>=2024.8', 'pyarrow>=14', 'fsspec>=2023.12', 'bokeh>=3.1']
VIEW = ['tornado>=6.1', 'av>=11']
COMPLETION = ['shtab>=1.6']
DOCS = ['mkdocs>=1.6,<2', 'mkdocs-material>=9.5,<10', 'mkdocstrings[python]>=0.26']
TEST = [*BATCH, *VIEW, *COMPLETION, *DOCS, 'pandas>=2.1', 'polars>=0.20', 'duckdb>=0.10',
        'pytest>=7.4', 'pytest-xdist>=3.3', 'pytest-cov>=4.1', 'pytest-timeout>=2.2',
        'pytest-rerunfailures>=13.0', 'hypothesis>=6.80', 'mypy>=1.8',
        'ros-ament-flake8', 'ros-ament-pep257', 'types-PyYAML',
        'flake8>=6.0', 'flake8-builtins', 'flake8-class-newline', 'flake8-comprehensions',
        'flake8-deprecated', 'flake8-docstrings', 'flake8-import-order', 'flake8-quotes']

setup(
    name=NAME,
    version=ElementTree.parse(HERE / 'package.xml').findtext('version'),
    packages=find_packages(include=[NAME, NAME + '.*']),
    package_data={NAME: ['py.typed', 'view/page.html']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + NAME]),
        ('share/' + NAME, ['package.xml']),
        ('share/' + NAME + '/launch', glob('launch/*.launch.py')),
        ('share/' + NAME + '/config', glob('config/*')),
    ],
    python_requires='>=3.10',
    install_requires=[
        'setuptools',
        'numpy>=1.26',
        'scipy>=1.11',
        'opencv-python-headless>=4.6,<5',
        'numba>=0.58',
        'PyYAML>=6.0',
        'rich>=13.0',
        'rosbags>=0.10.6',
    ],
    extras_require={
        'jazzy': ros('jazzy'),
        'kilted': ros('kilted'),
        'view': VIEW,
        'rerun': ['rerun-sdk>=0.23'],
        'completion': COMPLETION,
        'batch': BATCH,
        'docs': DOCS,
        'test': TEST,
    },
    zip_safe=False,
    maintainer='gdm_motion_seg maintainers',
    maintainer_email='maintainers@example.com',
    description='Finds what moves on its own in the images of one moving camera.',
    long_description=(HERE / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'gdm-motion-seg = gdm_motion_seg.cli.main:entry',
            'motion_seg_node = gdm_motion_seg.ros.__main__:main',
        ],
    },
)
