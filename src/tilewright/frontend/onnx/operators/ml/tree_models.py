"""TreeEnsembleRegressor and TreeEnsembleClassifier: forests whose nodes are numbered within their trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import InvalidModel, ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.forest import AGGREGATES, MODES, Forest, flags
from tilewright.frontend.onnx.operators.ml.scores import (
    DOMAIN,
    classified,
    labels_of,
    matrix,
    transformed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedNodes:
    """Attributes of the nodes, which are found by their tree and their number in it."""

    base_values: Sequence[float] = ()
    base_values_as_tensor: Any = None
    nodes_falsenodeids: Sequence[int] = ()
    nodes_featureids: Sequence[int] = ()
    nodes_hitrates: Sequence[float] = ()
    nodes_hitrates_as_tensor: Any = None
    nodes_missing_value_tracks_true: Sequence[int] = ()
    nodes_modes: Sequence[str] = ()
    nodes_nodeids: Sequence[int] = ()
    nodes_treeids: Sequence[int] = ()
    nodes_truenodeids: Sequence[int] = ()
    nodes_values: Sequence[float] = ()
    nodes_values_as_tensor: Any = None
    post_transform: str = "NONE"

    def _base(self) -> Any:
        return _either(self.base_values, self.base_values_as_tensor)

    def _forest(self, *votes: Sequence[Any]) -> Forest:
        """The forest with these votes of its leaves (trees, nodes, targets, weights). The first node of a tree is its root."""
        self._check(votes)
        trees, is_leaf = self.nodes_treeids, [mode == "LEAF" for mode in self.nodes_modes]
        places: dict[tuple[int, int], int] = {}
        roots: dict[int, int] = {}
        for position, (tree, number) in enumerate(zip(trees, self.nodes_nodeids, strict=True)):
            places[tree, number] = ~position if is_leaf[position] else position
            roots.setdefault(tree, places[tree, number])
        features, modes = (
            [default if leaf else value for value, leaf in zip(values, is_leaf, strict=True)]
            for values, default in ((self.nodes_featureids, 0), (self.nodes_modes, MODES[0]))
        )
        return Forest(
            roots=np.array(list(roots.values()), np.int64),
            features=np.array(features, np.int64),
            modes=np.array([MODES.index(mode) for mode in modes]),
            splits=_either(self.nodes_values, self.nodes_values_as_tensor),
            members={},
            is_missing_true=flags(self.nodes_missing_value_tracks_true, len(trees)),
            true_children=_found(places, trees, self.nodes_truenodeids, is_leaf),
            false_children=_found(places, trees, self.nodes_falsenodeids, is_leaf),
            votes=_votes(places, votes, len(trees)),
        )

    def _check(self, votes: Sequence[Sequence[Any]]) -> None:
        """Raises `ShapeError` and `UnsupportedOperation` for nodes that do not fit each other."""
        per_node = (
            self.nodes_treeids,
            self.nodes_nodeids,
            self.nodes_featureids,
            self.nodes_modes,
            self.nodes_truenodeids,
            self.nodes_falsenodeids,
            _either(self.nodes_values, self.nodes_values_as_tensor),
        )
        if len(set(map(len, per_node))) != 1 or len(set(map(len, votes))) != 1:
            raise ShapeError("attributes of nodes or votes have different lengths", where=DOMAIN)
        unknown = set(self.nodes_modes) - {*MODES[:-1], "LEAF"}
        if unknown:
            raise UnsupportedOperation(f"nodes of mode {', '.join(sorted(unknown))}", where=DOMAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnsembleRegressor(NumberedNodes):
    """Scores [N, n_targets], float32."""

    aggregate_function: str = "SUM"
    n_targets: int = 1
    target_ids: Sequence[int] = ()
    target_nodeids: Sequence[int] = ()
    target_treeids: Sequence[int] = ()
    target_weights: Sequence[float] = ()
    target_weights_as_tensor: Any = None

    def reference(self, x: Any) -> Any:
        if self.aggregate_function not in AGGREGATES:
            raise UnsupportedOperation(f"aggregate_function {self.aggregate_function!r}", where="TreeEnsembleRegressor")
        weights = _either(self.target_weights, self.target_weights_as_tensor)
        forest = self._forest(self.target_treeids, self.target_nodeids, self.target_ids, weights)
        scores = forest.scores(matrix(x, "TreeEnsembleRegressor"), self.n_targets, self.aggregate_function)
        base = self._base()
        return transformed(scores + (base if len(base) else 0.0), self.post_transform).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnsembleClassifier(NumberedNodes):
    """The best label of every row and the scores [N, E], float32.

    If all votes are for the first of two classes, they count for the second, which wins above 1/2 where no weight is negative,
    else above 0.
    """

    class_ids: Sequence[int] = ()
    class_nodeids: Sequence[int] = ()
    class_treeids: Sequence[int] = ()
    class_weights: Sequence[float] = ()
    class_weights_as_tensor: Any = None
    classlabels_int64s: Sequence[int] = ()
    classlabels_strings: Sequence[str] = ()

    def reference(self, x: Any) -> Any:
        labels = labels_of(self.classlabels_int64s, self.classlabels_strings, "TreeEnsembleClassifier")
        weights = _either(self.class_weights, self.class_weights_as_tensor)
        is_binary = len(labels) == 2 and set(self.class_ids) == {0}
        forest = self._forest(self.class_treeids, self.class_nodeids, self.class_ids, weights)
        scores = forest.scores(matrix(x, "TreeEnsembleClassifier"), 1 if is_binary else len(labels), "SUM")
        base = self._base()
        scores = scores + (base[-scores.shape[1] :] if len(base) else 0.0)
        is_share = bool(np.all(weights >= 0))
        return classified(scores, labels, self.post_transform, 0.5 if is_share else 0.0, 1.0 if is_share else 0.0)


def _found(places: dict[tuple[int, int], int], trees: Sequence[int], numbers: Sequence[int], is_leaf: Sequence[bool]) -> Any:
    try:
        children = [~n if is_leaf[n] else places[tree, child] for n, (tree, child) in enumerate(zip(trees, numbers, strict=True))]
    except KeyError as error:
        raise InvalidModel(f"a tree lacks its node {error}", where=DOMAIN) from error
    return np.array(children, np.int64)


def _votes(places: dict[tuple[int, int], int], votes: Sequence[Any], count: int) -> list[tuple[Any, Any]]:
    found: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for tree, number, target, weight in zip(*votes, strict=True):
        place = places.get((tree, number), 0)
        if place >= 0:
            raise InvalidModel(f"node {number} of tree {tree} votes, but is no leaf", where=DOMAIN)
        found[~place].append((target, weight))
    return [(np.array([t for t, _ in pairs], np.int64), np.array([w for _, w in pairs])) for pairs in found]


def _either(values: Sequence[float], tensor: Any) -> Any:
    """The list as it is stored, float32, or the tensor."""
    return np.array(values, np.float32).astype(np.float64) if tensor is None else np.asarray(tensor, np.float64)


define("TreeEnsembleRegressor", TreeEnsembleRegressor, domain=DOMAIN)
define("TreeEnsembleClassifier", TreeEnsembleClassifier, domain=DOMAIN)
