"""Functions and operands by name: Chimera's chains (G1, G1_softmax, C3, C3_relu), MLPs of `tilewright bench mlp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.tune import chain_functions
from tilewright.tune.shapes import TABLE_IV, TABLE_V, chain_shape, conv_chain_shape
from tilewright_bench.cases.case import FloatArray
from tilewright_bench.cases.mlp import mlp_cases
from tilewright_bench.cases.mlp_networks import network
from tilewright_bench.tilewright_contender.mlp import Traced

GEMM_CHAINS = tuple(shape.name for shape in TABLE_IV)
CONV_CHAINS = tuple(shape.name for shape in TABLE_V)
SOFTMAX, RELU = "_softmax", "_relu"
Case = tuple[Callable[..., Any], tuple[FloatArray, ...]]


def case_named(name: str) -> Case:
    """The case of that name; `KeyError` if there is none."""
    generator = np.random.default_rng(20240229)
    if name.removesuffix(SOFTMAX) in GEMM_CHAINS:
        function = chain_functions.attention if name.endswith(SOFTMAX) else chain_functions.gemm_chain
        shapes = chain_shape(name.removesuffix(SOFTMAX)).operands
        return function, tuple(generator.standard_normal(shape, np.float32) for shape in shapes)
    if name.removesuffix(RELU) in CONV_CHAINS:
        shape = conv_chain_shape(name.removesuffix(RELU))
        image = generator.standard_normal((1, *shape.image), np.float32)
        return chain_functions.conv_chain(shape, with_relu=name.endswith(RELU)), (image,)
    (case,) = mlp_cases([name])
    return lambda x: network(case.shape, Traced(), x, case.weights, case.biases), (case.rows,)
