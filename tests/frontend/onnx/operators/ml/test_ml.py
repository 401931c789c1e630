"""Operators of ai.onnx.ml."""

import numpy as np
import pytest

from tests.support.onnx_operators import operator
from tilewright.errors import InvalidModel


def test_features_of_labels_and_scores():
    ml = "ai.onnx.ml"
    encoded = operator("LabelEncoder", 4, ml, keys_floats=(1.1, float("nan")), values_strings=("a", "b")).reference(
        np.array([1.1, np.nan, 7], np.float32)
    )
    assert encoded.tolist() == ["a", "b", "_Unused"]
    x = np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)
    assert operator("Normalizer", 1, ml, norm="L2").reference(x).tolist() == [[np.float32(0.6), np.float32(0.8)], [0, 0]]
    assert operator("ZipMap", 1, ml, classlabels_strings=("u", "v")).reference(x[:1]) == [{"u": 3.0, "v": 4.0}]
    assert operator("DictVectorizer", 1, ml, string_vocabulary=("v", "u")).reference({"u": 2.0}).tolist() == [[0, 2]]
    labels, scores = operator(
        "LinearClassifier", 1, ml, coefficients=(1.0, -1.0), intercepts=(0.5,), classlabels_ints=(8, 9), post_transform="LOGISTIC"
    ).reference(x)
    assert labels.tolist() == [8, 9]
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-6)


def test_support_vector_machines_vote():
    labels, scores = operator(
        "SVMClassifier",
        1,
        "ai.onnx.ml",
        classlabels_ints=(0, 1, 2),
        coefficients=(1.0, -1.0, 0.0, 1.0, 1.0, -1.0),
        support_vectors=(1.0, -1.0, 0.0),
        vectors_per_class=(1, 1, 1),
        kernel_type="LINEAR",
        kernel_params=(0.0, 0.0, 0.0),
        rho=(0.0, 0.0, 0.0),
    ).reference(np.array([[2.0], [-2.0], [0.1]]))
    assert scores.shape == (3, 3)
    assert labels.tolist() == [0, 1, 0]


TREE = {"nodes_featureids": [0], "nodes_modes": np.array([0], np.uint8), "nodes_splits": np.array([0.5]), "tree_roots": [0]}
LEAVES = {"leaf_targetids": [0, 0], "leaf_weights": np.array([1.0, 2.0]), "nodes_trueleafs": [1], "nodes_falseleafs": [1]}


def ensemble(**attributes):
    return operator("TreeEnsemble", 5, "ai.onnx.ml", **attributes)


def test_trees_that_lead_nowhere_are_refused():
    x = np.array([[0.2], [np.nan]])
    ids = {"nodes_truenodeids": [0], "nodes_falsenodeids": [1]}
    assert ensemble(**TREE, **LEAVES, **ids).reference(x).tolist() == [[1], [2]]
    with pytest.raises(InvalidModel, match="ring"):
        ensemble(**TREE, **(LEAVES | {"nodes_trueleafs": [0]}), **ids).reference(x)
    with pytest.raises(InvalidModel, match="does not exist"):
        ensemble(**TREE, **LEAVES, nodes_truenodeids=[2], nodes_falsenodeids=[1]).reference(x)
