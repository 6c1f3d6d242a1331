# Copyright 2026 gdm_motion_seg maintainers
# SPDX-License-Identifier: Apache-2.0

"""A scikit-learn style estimator; scikit-learn itself is not needed."""

from typing import Any

import numpy as np
import numpy.typing as npt

from gdm_motion_seg.gdm.config import GdmConfig
from gdm_motion_seg.gdm.minimize import minimize_global_dimension
from gdm_motion_seg.gdm.validation import IntArray


class GlobalDimensionMinimization:
    """Hybrid linear modelling by global dimension minimization."""

    def __init__(self, n_clusters: int = 2, *, config: GdmConfig | None = None,
                 random_state: Any = None) -> None:
        """Store the parameters."""
        self.n_clusters = n_clusters
        self.config = config
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: Any = None) -> 'GlobalDimensionMinimization':  # noqa: N803
        """Partition the rows of X."""
        result = minimize_global_dimension(X, self.n_clusters, self.config,
                                           rng=np.random.default_rng(self.random_state))
        self.labels_ = result.labels
        self.memberships_ = result.memberships
        self.dimensions_ = result.dimensions
        self.global_dimension_ = result.global_dimension
        return self

    def fit_predict(self, X: npt.ArrayLike, y: Any = None) -> IntArray:  # noqa: N803
        """Partition the rows of X and return their labels."""
        return self.fit(X).labels_
