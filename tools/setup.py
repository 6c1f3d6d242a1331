# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""Package gdm_motion_seg_tools: benchmarks, rendered scenes, data sets, player and demo."""

from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

NAME = 'gdm_motion_seg_tools'
HERE = Path(__file__).parent

setup(
    name=NAME,
    version=ElementTree.parse(HERE / 'package.xml').findtext('version'),
    packages=find_packages(include=[NAME, NAME + '.*']),
    package_data={NAME: ['py.typed']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + NAME]),
        ('share/' + NAME, ['package.xml']),
    ],
    python_requires='>=3.10',
    install_requires=[
        'setuptools',
        'gdm_motion_seg',
        'scikit-learn>=1.3',
        'poselib>=2.0.4',
        'matplotlib>=3.6',
        'psutil>=5.9',
    ],
    extras_require={'sfm': ['pycolmap>=3.11']},
    zip_safe=False,
    maintainer='gdm_motion_seg maintainers',
    maintainer_email='maintainers@example.com',
    description='Benchmarks, rendered scenes, data-set readers, bag player and demo of '
                'gdm_motion_seg.',
    long_description=(HERE / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
)
