"""TreeEnsemble: a forest whose nodes and leaves are stored apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.forest import AGGREGATES, MODES, Forest, flags
from tilewright.frontend.onnx.operators.ml.scores import (
    DOMAIN,
    TRANSFORMS,
    transformed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnsemble:
    """Scores [N, n_targets] in the type of x."""

    aggregate_function: int = 1
    leaf_targetids: Sequence[int]
    leaf_weights: Any
    membership_values: Any = None
    n_targets: int = 1
    nodes_falseleafs: Sequence[int]
    nodes_falsenodeids: Sequence[int]
    nodes_featureids: Sequence[int]
    nodes_hitrates: Any = None
    nodes_missing_value_tracks_true: Sequence[int] = ()
    nodes_modes: Any
    nodes_splits: Any
    nodes_trueleafs: Sequence[int]
    nodes_truenodeids: Sequence[int]
    post_transform: int = 0
    tree_roots: Sequence[int]

    def reference(self, x: Any) -> Any:
        if not 0 <= self.aggregate_function < len(AGGREGATES) or not 0 <= self.post_transform < len(TRANSFORMS):
            message = f"aggregate_function {self.aggregate_function}, post_transform {self.post_transform}"
            raise UnsupportedOperation(message, where="TreeEnsemble")
        features = np.atleast_2d(np.asarray(x))
        scores = self._forest().scores(features, self.n_targets, AGGREGATES[self.aggregate_function])
        return transformed(scores, TRANSFORMS[self.post_transform]).astype(x.dtype)

    def _forest(self) -> Forest:
        self._check()
        weights = np.asarray(self.leaf_weights, np.float64)
        return Forest(
            roots=np.array(self.tree_roots, np.int64),
            features=np.array(self.nodes_featureids, np.int64),
            modes=np.asarray(self.nodes_modes),
            splits=np.asarray(self.nodes_splits),
            members=_members(self.nodes_modes, self.membership_values),
            is_missing_true=flags(self.nodes_missing_value_tracks_true, len(self.nodes_truenodeids)),
            true_children=_children(self.nodes_truenodeids, self.nodes_trueleafs),
            false_children=_children(self.nodes_falsenodeids, self.nodes_falseleafs),
            votes=[(np.array([target]), weights[number : number + 1]) for number, target in enumerate(self.leaf_targetids)],
        )

    def _check(self) -> None:
        """Raises `ShapeError` for attributes of different lengths."""
        per_node = (
            self.nodes_falseleafs,
            self.nodes_falsenodeids,
            self.nodes_featureids,
            self.nodes_modes,
            self.nodes_splits,
            self.nodes_trueleafs,
            self.nodes_truenodeids,
        )
        if len(set(map(len, per_node))) != 1 or len(self.leaf_targetids) != len(self.leaf_weights):
            raise ShapeError("attributes of nodes or leaves have different lengths", where="TreeEnsemble")


def _members(modes: Any, values: Any) -> dict[int, Any]:
    """The sets of the nodes of mode BRANCH_MEMBER, which follow each other with NaN between them."""
    nodes = np.flatnonzero(np.asarray(modes) == MODES.index("BRANCH_MEMBER")).tolist()
    numbers = np.asarray([] if values is None else values)
    sets = np.split(numbers, np.flatnonzero(np.isnan(numbers)) + 1)
    if len(sets) < len(nodes):
        raise ShapeError(f"{len(sets)} sets for {len(nodes)} nodes", where="TreeEnsemble")
    return {node: members[~np.isnan(members)] for node, members in zip(nodes, sets, strict=False)}


def _children(numbers: Sequence[int], is_leaf: Sequence[int]) -> Any:
    return np.where(np.array(is_leaf, bool), ~np.array(numbers, np.int64), np.array(numbers, np.int64))


define("TreeEnsemble", TreeEnsemble, since=5, domain=DOMAIN)
