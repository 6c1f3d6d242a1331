# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""The estimator behaves as scikit-learn's do, and does not need scikit-learn."""

import doctest
import importlib
import inspect
import subprocess
import sys

import numpy as np
import pytest

from gdm_motion_seg.errors import InputError
from gdm_motion_seg.gdm import GdmConfig, GlobalDimensionMinimization, minimize_global_dimension
from gdm_motion_seg.settings import settings_of

LEFT_OUT = {
    'check_clustering': 'it wants round blobs told apart; GDM tells linear subspaces apart, and '
    'blobs around any centre fill the whole space',
    'check_array_api_input': 'scikit-learn itself skips it unless SCIPY_ARRAY_API is set',
}


@pytest.mark.filterwarnings('ignore')
def test_it_passes_every_check_of_scikit_learn_that_makes_sense_for_it():
    checks = pytest.importorskip('sklearn.utils.estimator_checks')
    if 'on_fail' not in inspect.signature(checks.check_estimator).parameters:
        pytest.skip('this scikit-learn cannot report checks one by one (1.6 can)')
    estimator = GlobalDimensionMinimization(n1=3, n2=5, random_state=0)
    results = checks.check_estimator(estimator, on_fail=None)
    assert len(results) > 30
    failed = {r['check_name']: r['exception'] for r in results if r['status'] != 'passed'}
    assert {name: error for name, error in failed.items() if name not in LEFT_OUT} == {}


def test_its_parameters_and_defaults_are_those_of_the_settings():
    parameters = inspect.signature(GlobalDimensionMinimization).parameters
    declared = {s.name: s.default for s in settings_of(GdmConfig)}
    found = {name: p.default for name, p in parameters.items() if name in declared}
    assert found == declared
    assert set(parameters) == {'n_clusters', 'random_state', *declared}


def test_it_gives_the_answer_of_the_function(draw):
    vectors, truth = draw.hybrid(0, (3, 5), 40)
    estimator = GlobalDimensionMinimization(2, random_state=3)
    labels = estimator.fit_predict(vectors)
    result = minimize_global_dimension(vectors, 2, rng=3)
    np.testing.assert_array_equal(labels, result.labels)
    np.testing.assert_array_equal(estimator.labels_, labels)
    np.testing.assert_array_equal(estimator.memberships_, result.memberships)
    np.testing.assert_array_equal(estimator.dimensions_, result.dimensions)
    assert estimator.global_dimension_ == result.global_dimension
    assert draw.wrong(labels, truth) == 0


def test_settings_are_checked_when_it_is_fitted(draw):
    vectors, _ = draw.hybrid(0, (3, 5), 10)
    with pytest.raises(InputError, match='epsilon'):
        GlobalDimensionMinimization(2, epsilon=3.0).fit(vectors)
    with pytest.raises(InputError, match='n_clusters'):
        GlobalDimensionMinimization(0).fit(vectors)


WITHOUT_SKLEARN = """
import sys
sys.modules['sklearn'] = None
sys.modules['sklearn.base'] = None
import numpy as np
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.gdm import GlobalDimensionMinimization
x = np.vstack([np.outer([1, 2, 3, 4.], [1, 0, 1]), np.outer([1, 2, 3, 4.], [0, 1, 2])])
e = GlobalDimensionMinimization(random_state=0).set_params(n1=2)
assert e.get_params()['n1'] == 2
assert sorted(np.bincount(e.fit_predict(x))) == [4, 4]
try:
    e.set_params(colour='red')
except InputError as error:
    assert 'colour' in str(error)
else:
    raise AssertionError
"""


def test_it_works_where_scikit_learn_is_not_installed():
    subprocess.run([sys.executable, '-c', WITHOUT_SKLEARN], check=True, timeout=300)


@pytest.mark.parametrize('module', ('dimension', 'estimator', 'minimize', 'simplex'))
def test_the_examples_in_the_documentation_are_true(module):
    results = doctest.testmod(importlib.import_module(f'gdm_motion_seg.gdm.{module}'))
    assert results.attempted > 0 and results.failed == 0
