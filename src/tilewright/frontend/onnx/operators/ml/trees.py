"""TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier: forests of decision trees.

Each row walks down every tree, and the weights of the leaves are aggregated. TreeEnsemble stores nodes and leaves apart; the
nodes of the other two are numbered within their trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.errors import InvalidModel, ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_operator
from tilewright.frontend.onnx.operators.ml.linear import DOMAIN, TRANSFORMS, classified, labels_of, matrix, transformed
from tilewright.frontend.onnx.sizes import check_size
from tilewright.records import record

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
_COMPARISONS = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@record
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
        if any(len(indices) and not 0 <= indices.min() <= indices.max() < targets for indices, _ in self.votes):
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


def flags(values: Sequence[int], count: int) -> Any:
    """Truth values of `count` nodes, all false where none are given. Raises `ShapeError` for other lengths."""
    if len(values) not in (0, count):
        raise ShapeError(f"{len(values)} flags for {count} nodes", where=DOMAIN)
    return np.array(values, bool) if len(values) else np.zeros(count, bool)


@onnx_operator("TreeEnsemble", since=5, domain=DOMAIN)
class TreeEnsemble(SchemaAttributes):
    """Scores [N, n_targets] in the type of x."""

    def reference(self, x: Any) -> Any:
        if not 0 <= self.aggregate_function < len(AGGREGATES) or not 0 <= self.post_transform < len(TRANSFORMS):
            message = f"aggregate_function {self.aggregate_function}, post_transform {self.post_transform}"
            raise UnsupportedOperation(message, where="TreeEnsemble")
        features = np.atleast_2d(np.asarray(x))
        scores = self._forest().scores(features, self.n_targets or 1, AGGREGATES[self.aggregate_function])
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
        names = ("falseleafs", "falsenodeids", "featureids", "modes", "splits", "trueleafs", "truenodeids")
        lengths = {len(getattr(self, f"nodes_{name}")) for name in names}
        if len(lengths) != 1 or len(self.leaf_targetids) != len(self.leaf_weights):
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


class NumberedNodes(SchemaAttributes):
    """Attributes of the nodes, which are found by their tree and their number in it."""

    def _forest(self, *votes: Sequence[Any]) -> Forest:
        """The forest with these votes of its leaves (trees, nodes, targets, weights). The first node of a tree is its root."""
        self._check(votes)
        trees, is_leaf = self.nodes_treeids, [mode == "LEAF" for mode in self.nodes_modes]
        places: dict[tuple[int, int], int] = {}
        roots: dict[int, int] = {}
        for position, (tree, number) in enumerate(zip(trees, self.nodes_nodeids, strict=True)):
            places[tree, number] = ~position if is_leaf[position] else position
            roots.setdefault(tree, places[tree, number])
        features = [0 if leaf else feature for feature, leaf in zip(self.nodes_featureids, is_leaf, strict=True)]
        modes = [0 if leaf else MODES.index(mode) for mode, leaf in zip(self.nodes_modes, is_leaf, strict=True)]
        return Forest(
            roots=np.array(list(roots.values()), np.int64),
            features=np.array(features, np.int64),
            modes=np.array(modes),
            splits=_either(self.nodes_values, self.nodes_values_as_tensor),
            members={},
            is_missing_true=flags(self.nodes_missing_value_tracks_true, len(trees)),
            true_children=_found(places, trees, self.nodes_truenodeids, is_leaf),
            false_children=_found(places, trees, self.nodes_falsenodeids, is_leaf),
            votes=_votes(places, votes, len(trees)),
        )

    def _check(self, votes: Sequence[Sequence[Any]]) -> None:
        """Raises `ShapeError` and `UnsupportedOperation` for nodes that do not fit each other."""
        names = ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids")
        per_node = [getattr(self, f"nodes_{name}") for name in names]
        per_node.append(_either(self.nodes_values, self.nodes_values_as_tensor))
        if len(set(map(len, per_node))) != 1 or len(set(map(len, votes))) != 1:
            raise ShapeError("attributes of nodes or votes have different lengths", where=DOMAIN)
        unknown = set(self.nodes_modes) - {*MODES[:-1], "LEAF"}
        if unknown:
            raise UnsupportedOperation(f"nodes of mode {', '.join(sorted(unknown))}", where=DOMAIN)


@onnx_operator("TreeEnsembleRegressor", domain=DOMAIN)
class TreeEnsembleRegressor(NumberedNodes):
    """Scores [N, n_targets], float32."""

    def reference(self, x: Any) -> Any:
        if self.aggregate_function not in AGGREGATES:
            raise UnsupportedOperation(f"aggregate_function {self.aggregate_function!r}", where="TreeEnsembleRegressor")
        weights = _either(self.target_weights, self.target_weights_as_tensor)
        forest = self._forest(self.target_treeids, self.target_nodeids, self.target_ids, weights)
        scores = forest.scores(matrix(x, "TreeEnsembleRegressor"), self.n_targets or 1, self.aggregate_function)
        base = _either(self.base_values, self.base_values_as_tensor)
        return transformed(scores + (base if len(base) else 0.0), self.post_transform).astype(np.float32)


@onnx_operator("TreeEnsembleClassifier", domain=DOMAIN)
class TreeEnsembleClassifier(NumberedNodes):
    """The best label of every row and the scores [N, E], float32.

    If all votes are for the first of two classes, they count for the second, which wins above 1/2 where no weight is negative,
    else above 0.
    """

    def reference(self, x: Any) -> Any:
        labels = labels_of(self.classlabels_int64s, self.classlabels_strings, "TreeEnsembleClassifier")
        weights = _either(self.class_weights, self.class_weights_as_tensor)
        is_binary = len(labels) == 2 and set(self.class_ids) == {0}
        forest = self._forest(self.class_treeids, self.class_nodeids, self.class_ids, weights)
        scores = forest.scores(matrix(x, "TreeEnsembleClassifier"), 1 if is_binary else len(labels), "SUM")
        base = _either(self.base_values, self.base_values_as_tensor)
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
