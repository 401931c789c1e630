"""Operators of ONNX: reference implementations and interpreted lowerings give what the cases of onnx expect.

Generated code is compared in tests/conformance.
"""

import re

import numpy as np
import pytest

from tests.support.node_tests import node_tests, of_operators
from tests.support.onnx_operators import lowered
from tilewright.errors import TilewrightError, UnsupportedOperation

NOT_LOWERED = re.compile(
    r"pow_types_int\d+_float|quantizelinear_(e4m3|e5m2|u?int[24]|float4|blocked)|cast.*(FLOAT[48]E|INT[24](_|$))|training_dropout"
    r"|flexattention|empty_set|tf_crop"
)
OPERATORS = sorted({test.definition.name for test in node_tests()})


@pytest.mark.parametrize("name", OPERATORS)
def test_reference_and_lowering_are_those_of_onnx(name: str) -> None:
    for test in of_operators(name):
        test.check(test.referenced())
        try:
            test.check(test.interpreted())
        except UnsupportedOperation:
            assert not test.definition.has_lowering or NOT_LOWERED.search(test.name), test.name


F = np.zeros((2, 3, 4, 6), np.float32)
BAD = {
    "matrices that do not fit": ("Gemm", 13, (F[0, 0], F[0, 0]), {}),
    "a product of arrays": ("Gemm", 13, (F, F), {}),
    "a bias that is larger": ("Gemm", 13, (F[0, 0], F[0, 0].T, F), {}),
    "an axis that does not exist": ("Softmax", 13, (F,), {"axis": 4}),
    "rows from nowhere": ("Softmax", 11, (F,), {"axis": 7}),
    "heads that do not divide": ("Attention", 23, (F[0], F[0], F[0]), {"q_num_heads": 4, "kv_num_heads": 4}),
    "heads that nobody counts": ("Attention", 23, (F[0], F[0], F[0]), {}),
    "values of another length": ("Attention", 23, (F, F, F[:, :, 1:]), {}),
    "a stage that does not exist": ("Attention", 23, (F, F, F), {"qk_matmul_output_mode": 4}),
    "angles of other columns": ("RotaryEmbedding", 23, (F, F[:, 0], F[:, 0]), {}),
    "an odd number of columns": ("RotaryEmbedding", 23, (F, F[:, 0], F[:, 0]), {"rotary_embedding_dim": 3}),
    "targets of another shape": ("NegativeLogLikelihoodLoss", 13, (F, np.zeros((2, 3), int)), {}),
    "a reduction without a name": ("NegativeLogLikelihoodLoss", 13, (F, np.zeros((2, 4, 6), int)), {"reduction": "max"}),
    "an index with two extents": ("Einsum", 12, (F,), {"equation": "iijk->ijk"}),
    "gates of another shape": ("SwiGLU", 28, (F, F[0]), {}),
}


@pytest.mark.parametrize(("name", "version", "operands", "attributes"), BAD.values(), ids=BAD.keys())
def test_bad_operands_are_refused(name: str, version: int, operands: tuple, attributes: dict) -> None:
    with pytest.raises(TilewrightError):
        lowered(name, version, *operands, **attributes)
