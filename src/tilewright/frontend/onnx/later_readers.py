"""Values that nodes behind a compiled stage read where every bit counts: ONNX operators that are discontinuous, or lead to such.

What is not named here hands values on. ArgMax, TopK and NonMaxSuppression over computed scores do not count as discontinuous.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.frontend.onnx.model import Node

DISCONTINUOUS = (
    *("Ceil", "Floor", "Mod", "Round", "Sign", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "NonZero"),
    *("Hardmax", "ThresholdedRelu", "Shrink", "QuantizeLinear", "DynamicQuantizeLinear", "OneHot", "Unique", "Bernoulli"),
    *("DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "BitCast", "Range", "Resize", "Upsample"),
    *("GridSample", "RoiAlign", "MaxRoiPool", "AffineGrid"),
    *("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"),
    *("StringNormalizer", "LabelEncoder", "CastMap", "Binarizer", "Imputer", "OneHotEncoder"),
)
"""With those that look something up at positions, or in tables, that they compute from values, and lengths that they compute."""
ENDS = (
    *("ArgMax", "ArgMin", "NonMaxSuppression", "Multinomial", "IsNaN", "IsInf", "Shape", "Size"),
    *("MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "CumSum", "LSTM", "GRU", "RNN", "DFT", "STFT", "Attention"),
    *("AveragePool", "GlobalAveragePool", "LpPool", "GlobalLpPool", "Softmax", "LogSoftmax", "Det", "LRN", "MelWeightMatrix"),
    *("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
    *("BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization"),
    *("LpNormalization", "MeanVarianceNormalization", "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"),
)
"""Sums and their like, whose own results are as exact as they are."""
CASTS = ("Cast", "CastLike")


def read_exactly(nodes: Iterable[Node]) -> frozenset[str]:
    """The values of which these nodes, in topological order, read every bit."""
    found: set[str] = set()
    for node in reversed(tuple(nodes)):
        hands_on = node.operator not in ENDS and not found.isdisjoint(node.outputs)
        if node.operator in DISCONTINUOUS or node.operator in CASTS or hands_on or node.bodies:
            found.update(node.reads())
    return frozenset(found)
