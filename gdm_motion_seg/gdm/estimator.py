# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A scikit-learn style estimator, which does not need scikit-learn."""

from typing import Any, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.arrays import FloatArray, IntArray
from gdm_motion_seg.errors import InputError
from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.gdm.minimize import GdmResult, minimize_global_dimension
from gdm_motion_seg.settings import settings_of

if TYPE_CHECKING:
    _Base: Any = object
else:
    try:
        from sklearn.base import BaseEstimator, ClusterMixin

        class _Base(ClusterMixin, BaseEstimator):
            """Base classes of scikit-learn."""

    except ImportError:
        class _Base:
            """Replacement for the base classes without scikit-learn."""

            def get_params(self, deep: bool = True) -> dict[str, Any]:
                """Return the parameters of the constructor."""
                return {name: getattr(self, name) for name in _PARAMETERS}

            def set_params(self, **params: Any) -> Any:
                """Change parameters of the constructor."""
                for name, value in params.items():
                    if name not in _PARAMETERS:
                        raise InputError(f'there is no parameter called {name!r}')
                    setattr(self, name, value)
                return self

_SETTINGS = tuple(s.name for s in settings_of(GdmConfig))
_PARAMETERS = ('n_clusters', *_SETTINGS, 'random_state')


class GlobalDimensionMinimization(_Base):  # type: ignore[misc]
    """
    Hybrid linear modelling: cluster vectors that lie near a union of linear subspaces.

    Parameters
    ----------
    n_clusters : int
        The number K of subspaces.
    epsilon, p, n1, ..., r
        The settings of :class:`GdmConfig`, with its defaults.
    random_state : int, numpy Generator, numpy RandomState or None
        Randomness of the starts.

    Attributes
    ----------
    labels_ : (N,) array
        Cluster of each vector, -1 for an outlier.
    memberships_ : (K, N) array
        Soft memberships before thresholding.
    dimensions_ : (K,) array
        Empirical dimension of each cluster.
    global_dimension_ : float
        Global dimension of the partition.
    result_ : GdmResult
        Everything else that is known about the search.

    Examples
    --------
    >>> plane = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, -1, 0], [2, 1, 0]]
    >>> line = [[1, 1, 1], [2, 2, 2], [-1, -1, -1], [3, 3, 3]]
    >>> labels = GlobalDimensionMinimization(2, random_state=0).fit_predict(plane + line)
    >>> len(set(labels[:5])), len(set(labels[5:])), len(set(labels))
    (1, 1, 2)

    """

    labels_: IntArray
    memberships_: FloatArray
    dimensions_: FloatArray
    global_dimension_: float
    result_: GdmResult

    def __init__(self, n_clusters: int = 2, *, epsilon: float = 0.35, p: float = 15.0,
                 n1: int = 10, n2: int = 30, n3: int = 10, n_pairs: int = 20, step: float = 0.3,
                 search: str = 'default', tie_weight: float = 0.01, outliers: str = 'classic',
                 alpha: float = 0.01, outlier_price: str = 'quadratic',
                 outlier_fraction: float = 0.2, kappa: float = 0.05, r: float = 3.0,
                 random_state: Any = None) -> None:
        """Store the parameters; they are checked by :meth:`fit`."""
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.p = p
        self.n1 = n1
        self.n2 = n2
        self.n3 = n3
        self.n_pairs = n_pairs
        self.step = step
        self.search = search
        self.tie_weight = tie_weight
        self.outliers = outliers
        self.alpha = alpha
        self.outlier_price = outlier_price
        self.outlier_fraction = outlier_fraction
        self.kappa = kappa
        self.r = r
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: Any = None) -> 'GlobalDimensionMinimization':  # noqa: N803
        """Partition the rows of X; y is ignored."""
        config = GdmConfig(**{name: getattr(self, name) for name in _SETTINGS})
        vectors = self._checked(X)
        self.result_ = minimize_global_dimension(vectors, self.n_clusters, config,
                                                 rng=_generator(self.random_state))
        self.labels_ = self.result_.labels
        self.memberships_ = self.result_.memberships
        self.dimensions_ = self.result_.dimensions
        self.global_dimension_ = self.result_.global_dimension
        return self

    def fit_predict(self, X: npt.ArrayLike, y: Any = None) -> IntArray:  # noqa: N803
        """Partition the rows of X and return their labels."""
        return self.fit(X).labels_

    def _checked(self, X: npt.ArrayLike) -> npt.ArrayLike:  # noqa: N803
        """Check X with scikit-learn, if it is installed."""
        try:
            from sklearn.utils.validation import validate_data
        except ImportError:
            return X
        few = self.n_clusters if isinstance(self.n_clusters, int) else 1
        checked: npt.ArrayLike = validate_data(self, X, dtype=np.float64,
                                               ensure_min_samples=max(few, 1))
        return checked


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2 ** 32, dtype=np.uint64))
    return np.random.default_rng(random_state)
