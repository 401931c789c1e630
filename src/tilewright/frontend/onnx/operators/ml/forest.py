"""Forests of decision trees: each row walks down every tree, and the weights of the leaves are aggregated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import InvalidModel, ShapeError
from tilewright.frontend.onnx.operators.ml.scores import (
    DOMAIN,
)
from tilewright.frontend.onnx.sizes import check_size

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
