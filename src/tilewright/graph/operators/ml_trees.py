"""Ensembles of decision trees of ai.onnx.ml: every row walks down every tree, and the leaves' weights are aggregated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import InvalidModel, ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.element_types import check_size
from tilewright.graph.operators.ml_scores import DOMAIN, TRANSFORMS, classified, labels_of, matrix, transformed

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
_COMPARISONS: tuple[Callable[[Any, Any], Any], ...] = (
    np.less_equal,
    np.less,
    np.greater_equal,
    np.greater,
    np.equal,
    np.not_equal,
)
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass(frozen=True, slots=True)
class Forest:
    """Nodes and leaves of all trees. A child below 0 is the leaf ~child; a root may be a leaf, too."""

    roots: Any
    features: Any
    modes: Any
    splits: Any
    members: dict[int, Any]
    """The set of every node of mode BRANCH_MEMBER."""
    is_missing_true: Any
    true_children: Any
    false_children: Any
    votes: Sequence[tuple[Any, Any]]
    """Of every leaf: targets and weights."""

    def check(self, features: int, targets: int) -> None:
        """Raises `InvalidModel` for children, features and targets that do not exist."""
        children = np.concatenate([self.roots, self.true_children, self.false_children])
        if children.size and (children.max() >= len(self.features) or children.min() < -len(self.votes)):
            raise InvalidModel("a tree has a child that does not exist", where=DOMAIN)
        if self.features.size and not 0 <= self.features.min() <= self.features.max() < features:
            raise InvalidModel(f"a tree asks for a feature outside 0..{features - 1}", where=DOMAIN)
        if any(len(one) and not 0 <= one.min() <= one.max() < targets for one, _ in self.votes):
            raise InvalidModel(f"a leaf votes for a target outside 0..{targets - 1}", where=DOMAIN)

    def leaf_of(self, x: Any, root: int) -> Any:
        """The number of the leaf that every row reaches from a root. Raises `InvalidModel` where nodes form a ring."""
        places = np.full(len(x), root)
        for _ in range(len(self.features) + 1):
            walking = np.flatnonzero(places >= 0)
            if not walking.size:
                return ~places
            nodes = places[walking]
            goes = self._goes_true(x[walking, self.features[nodes]], nodes)
            places[walking] = np.where(goes, self.true_children[nodes], self.false_children[nodes])
        raise InvalidModel("the nodes of a tree form a ring", where=DOMAIN)

    def _goes_true(self, values: Any, nodes: Any) -> Any:
        goes = np.zeros(len(values), bool)
        for mode, compare in enumerate(_COMPARISONS):
            chosen = self.modes[nodes] == mode
            goes[chosen] = compare(values[chosen], self.splits[nodes[chosen]])
        for place in np.flatnonzero(self.modes[nodes] == MODES.index("BRANCH_MEMBER")):
            goes[place] = np.isin(values[place], self.members[int(nodes[place])])
        return np.where(np.isnan(values), self.is_missing_true[nodes].astype(bool), goes)

    def scores(self, x: Any, targets: int, aggregate: str) -> Any:
        """[N, targets]: the votes of all trees together; 0 for targets that none votes for."""
        self.check(x.shape[1], targets)
        nothing = {"MIN": np.inf, "MAX": -np.inf}.get(aggregate, 0.0)
        combine = {"MIN": np.minimum, "MAX": np.maximum}.get(aggregate, np.add)
        scores = np.full(check_size((len(x), targets), DOMAIN), nothing)
        for root in self.roots:
            for row, leaf in enumerate(self.leaf_of(x, int(root))):
                chosen, weights = self.votes[leaf]
                combine.at(scores[row], chosen, weights)
        scores = np.where(np.isinf(scores) & (scores == nothing), 0.0, scores)
        return scores / max(len(self.roots), 1) if aggregate == "AVERAGE" else scores


def tree_ensemble(
    x: Any,
    *,
    aggregate_function: int = 1,
    leaf_targetids: Sequence[int],
    leaf_weights: Any,
    membership_values: Any = None,
    n_targets: int = 1,
    nodes_falseleafs: Sequence[int],
    nodes_falsenodeids: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_hitrates: Any = None,
    nodes_missing_value_tracks_true: Sequence[int] = (),
    nodes_modes: Any,
    nodes_splits: Any,
    nodes_trueleafs: Sequence[int],
    nodes_truenodeids: Sequence[int],
    post_transform: int = 0,
    tree_roots: Sequence[int],
) -> Any:
    """Scores [N, n_targets] in the type of x."""
    if not 0 <= aggregate_function < len(AGGREGATES) or not 0 <= post_transform < len(TRANSFORMS):
        message = f"aggregate_function {aggregate_function}, post_transform {post_transform}"
        raise UnsupportedOperation(message, where="TreeEnsemble")
    per_node = (nodes_falseleafs, nodes_falsenodeids, nodes_featureids, nodes_modes, nodes_splits, nodes_trueleafs)
    if any(len(one) != len(nodes_truenodeids) for one in per_node) or len(leaf_targetids) != len(leaf_weights):
        raise ShapeError("attributes of nodes or leaves have different lengths", where="TreeEnsemble")
    weights = np.asarray(leaf_weights, np.float64)
    forest = Forest(
        roots=np.array(tree_roots, np.int64),
        features=np.array(nodes_featureids, np.int64),
        modes=np.asarray(nodes_modes),
        splits=np.asarray(nodes_splits),
        members=_members(nodes_modes, membership_values),
        is_missing_true=_flags(nodes_missing_value_tracks_true, len(nodes_truenodeids)),
        true_children=_children(nodes_truenodeids, nodes_trueleafs),
        false_children=_children(nodes_falsenodeids, nodes_falseleafs),
        votes=[(np.array([target]), weights[number : number + 1]) for number, target in enumerate(leaf_targetids)],
    )
    features = np.atleast_2d(np.asarray(x))
    scores = forest.scores(features, n_targets, AGGREGATES[aggregate_function])
    return transformed(scores, TRANSFORMS[post_transform]).astype(x.dtype)


def tree_regressor(
    x: Any,
    *,
    aggregate_function: str = "SUM",
    base_values: Sequence[float] = (),
    base_values_as_tensor: Any = None,
    n_targets: int = 1,
    nodes_falsenodeids: Sequence[int] = (),
    nodes_featureids: Sequence[int] = (),
    nodes_hitrates: Sequence[float] = (),
    nodes_hitrates_as_tensor: Any = None,
    nodes_missing_value_tracks_true: Sequence[int] = (),
    nodes_modes: Sequence[str] = (),
    nodes_nodeids: Sequence[int] = (),
    nodes_treeids: Sequence[int] = (),
    nodes_truenodeids: Sequence[int] = (),
    nodes_values: Sequence[float] = (),
    nodes_values_as_tensor: Any = None,
    post_transform: str = "NONE",
    target_ids: Sequence[int] = (),
    target_nodeids: Sequence[int] = (),
    target_treeids: Sequence[int] = (),
    target_weights: Sequence[float] = (),
    target_weights_as_tensor: Any = None,
) -> Any:
    """Scores [N, n_targets], float32."""
    if aggregate_function not in AGGREGATES:
        raise UnsupportedOperation(f"aggregate_function {aggregate_function!r}", where="TreeEnsembleRegressor")
    forest = _linked(
        (nodes_treeids, nodes_nodeids, nodes_featureids, nodes_modes, nodes_truenodeids, nodes_falsenodeids),
        _either(nodes_values, nodes_values_as_tensor),
        nodes_missing_value_tracks_true,
        (target_treeids, target_nodeids, target_ids, _either(target_weights, target_weights_as_tensor)),
    )
    scores = forest.scores(matrix(x, "TreeEnsembleRegressor"), n_targets, aggregate_function)
    base = _either(base_values, base_values_as_tensor)
    return transformed(scores + (base if len(base) else 0.0), post_transform).astype(np.float32)


def tree_classifier(
    x: Any,
    *,
    base_values: Sequence[float] = (),
    base_values_as_tensor: Any = None,
    class_ids: Sequence[int] = (),
    class_nodeids: Sequence[int] = (),
    class_treeids: Sequence[int] = (),
    class_weights: Sequence[float] = (),
    class_weights_as_tensor: Any = None,
    classlabels_int64s: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    nodes_falsenodeids: Sequence[int] = (),
    nodes_featureids: Sequence[int] = (),
    nodes_hitrates: Sequence[float] = (),
    nodes_hitrates_as_tensor: Any = None,
    nodes_missing_value_tracks_true: Sequence[int] = (),
    nodes_modes: Sequence[str] = (),
    nodes_nodeids: Sequence[int] = (),
    nodes_treeids: Sequence[int] = (),
    nodes_truenodeids: Sequence[int] = (),
    nodes_values: Sequence[float] = (),
    nodes_values_as_tensor: Any = None,
    post_transform: str = "NONE",
) -> Any:
    """The best label of every row and the scores [N, E], float32.

    If all votes are for the first of two classes, they count for the second, which wins above 1/2 where no weight is negative,
    else above 0.
    """
    labels = labels_of(classlabels_int64s, classlabels_strings, "TreeEnsembleClassifier")
    weights = _either(class_weights, class_weights_as_tensor)
    is_binary = len(labels) == 2 and set(class_ids) == {0}
    forest = _linked(
        (nodes_treeids, nodes_nodeids, nodes_featureids, nodes_modes, nodes_truenodeids, nodes_falsenodeids),
        _either(nodes_values, nodes_values_as_tensor),
        nodes_missing_value_tracks_true,
        (class_treeids, class_nodeids, class_ids, weights),
    )
    scores = forest.scores(matrix(x, "TreeEnsembleClassifier"), 1 if is_binary else len(labels), "SUM")
    base = _either(base_values, base_values_as_tensor)
    scores = scores + (base[-scores.shape[1] :] if len(base) else 0.0)
    is_share = bool(np.all(weights >= 0))
    return classified(scores, labels, post_transform, 0.5 if is_share else 0.0, 1.0 if is_share else 0.0)


def _linked(nodes: Sequence[Sequence[Any]], values: Any, missing: Sequence[int], votes: Sequence[Any]) -> Forest:
    """A forest whose nodes are found by tree and number, with the leaves among them. The first node of a tree is its root."""
    trees, numbers, features, modes, true_numbers, false_numbers = nodes
    if len({len(one) for one in (*nodes, values)}) != 1 or len({len(one) for one in votes}) != 1:
        raise ShapeError("attributes of nodes or votes have different lengths", where=DOMAIN)
    unknown = set(modes) - {*MODES[:-1], "LEAF"}
    if unknown:
        raise UnsupportedOperation(f"nodes of mode {', '.join(sorted(unknown))}", where=DOMAIN)
    is_leaf = [mode == "LEAF" for mode in modes]
    places: dict[tuple[int, int], int] = {}
    roots: dict[int, int] = {}
    for position, (tree, number) in enumerate(zip(trees, numbers, strict=True)):
        places[tree, number] = ~position if is_leaf[position] else position
        roots.setdefault(tree, places[tree, number])
    return Forest(
        roots=np.array(list(roots.values()), np.int64),
        features=np.array([0 if leaf else feature for feature, leaf in zip(features, is_leaf, strict=True)], np.int64),
        modes=np.array([0 if leaf else MODES.index(mode) for mode, leaf in zip(modes, is_leaf, strict=True)]),
        splits=values,
        members={},
        is_missing_true=_flags(missing, len(trees)),
        true_children=_found(places, trees, true_numbers, is_leaf),
        false_children=_found(places, trees, false_numbers, is_leaf),
        votes=_votes(places, votes, len(trees)),
    )


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
    return [(np.array([t for t, _ in one], np.int64), np.array([w for _, w in one])) for one in found]


def _members(modes: Any, values: Any) -> dict[int, Any]:
    """The sets of the nodes of mode BRANCH_MEMBER, which follow each other with NaN between them."""
    nodes = np.flatnonzero(np.asarray(modes) == MODES.index("BRANCH_MEMBER")).tolist()
    numbers = np.asarray([] if values is None else values)
    sets = np.split(numbers, np.flatnonzero(np.isnan(numbers)) + 1)
    if len(sets) < len(nodes):
        raise ShapeError(f"{len(sets)} sets for {len(nodes)} nodes", where="TreeEnsemble")
    return {node: one[~np.isnan(one)] for node, one in zip(nodes, sets, strict=False)}


def _children(numbers: Sequence[int], is_leaf: Sequence[int]) -> Any:
    return np.where(np.array(is_leaf, bool), ~np.array(numbers, np.int64), np.array(numbers, np.int64))


def _flags(values: Sequence[int], count: int) -> Any:
    if len(values) not in (0, count):
        raise ShapeError(f"{len(values)} flags for {count} nodes", where=DOMAIN)
    return np.array(values, bool) if len(values) else np.zeros(count, bool)


def _either(values: Sequence[float], tensor: Any) -> Any:
    """The list as it is stored, float32, or the tensor."""
    return np.array(values, np.float32).astype(np.float64) if tensor is None else np.asarray(tensor, np.float64)


define("TreeEnsemble", tree_ensemble, since=5, domain=DOMAIN)
define("TreeEnsembleRegressor", tree_regressor, domain=DOMAIN)
define("TreeEnsembleClassifier", tree_classifier, domain=DOMAIN)
