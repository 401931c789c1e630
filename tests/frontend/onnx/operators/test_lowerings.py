"""Operators of ONNX: reference implementations and interpreted lowerings give what the cases of onnx expect.

Generated code is compared in tests/conformance.
"""

import re

import numpy as np
import pytest

from tests.support.node_tests import node_tests, of_operators
from tests.support.onnx_operators import operator
from tilewright.errors import TilewrightError, UnsupportedOperation
from tilewright.graph.builder import Builder
from tilewright.graph.interpreter import evaluate

ACTIVATIONS = (
    *("Celu", "Elu", "Gelu", "HardSigmoid", "HardSwish", "Hardmax", "LeakyRelu", "LogSoftmax", "Mish", "PRelu", "Relu", "Selu"),
    *("Shrink", "Sigmoid", "Softmax", "Softplus", "Softsign", "SwiGLU", "Swish", "Tanh", "ThresholdedRelu"),
)
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


def test_all_attention_is_lowered() -> None:
    assert sum(test.definition.name == "Attention" for test in node_tests()) == 93
    assert all(test.lowered() for test in of_operators("Attention"))


def lowered(name: str, version: int, *operands: np.ndarray, **attributes: object) -> np.ndarray:
    """The first result by interpretation of a lowering."""
    builder = Builder("f")
    tensors = [builder.input(f"x{n}", one.shape, one.dtype.name) for n, one in enumerate(operands)]
    result = operator(name, version, **attributes).lower(builder, *tensors)
    result = result[0] if isinstance(result, tuple) else result
    values = {tensor.name: one for tensor, one in zip(tensors, operands, strict=True)}
    return evaluate(builder.graph((result.name,)), values)[result.name]


def agree(name: str, version: int, *operands: np.ndarray, **attributes: object) -> None:
    """Fails unless lowering and reference implementation give the same type, shape and values."""
    with np.errstate(all="ignore"):
        expected = operator(name, version, **attributes).reference(*operands)
    expected = expected[0] if isinstance(expected, tuple) else expected
    result = lowered(name, version, *operands, **attributes)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    rtol = 2e-3 if expected.dtype == np.float16 else 2e-5
    np.testing.assert_allclose(result.astype("f8"), expected.astype("f8"), rtol=rtol, atol=1e-6)


WIDE = np.concatenate([np.linspace(-100, 100, 41), [-1e-8, 1e-8, 0.0, -0.0, 1e-4, -1e-4]]).astype(np.float32)


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name not in ("PRelu", "SwiGLU")])
def test_activations_far_from_and_next_to_0(name: str) -> None:
    agree(name, 99, WIDE)


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_before_opset_13_rows_go_over_several_dimensions(name: str, axis: int) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 5), np.float32)
    agree(name, 12, x, axis=axis)
    rows = 1 if axis == 0 else 2 if axis == 1 else 6
    whole = operator(name, 13, axis=-1).reference(x.reshape(rows, -1))
    np.testing.assert_array_equal(operator(name, 12, axis=axis).reference(x), whole.reshape(x.shape))


def test_bounds_that_are_attributes() -> None:
    agree("Clip", 6, WIDE, min=-1.0, max=2.0)
    agree("Clip", 6, WIDE)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize(("name", "attributes"), [("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1}), ("Mul", {}), ("Sub", {})])
def test_integers_divide_towards_0_and_wrap(dtype: str, name: str, attributes: dict[str, int]) -> None:
    limits = np.iinfo(dtype)
    x, y = np.meshgrid(np.array([limits.min, 3, 7, limits.max], dtype), np.array([2, 3, 100], dtype))
    agree(name, 28, x, y, **attributes)


def test_powers_of_0_are_1_and_means_of_nothing_nan() -> None:
    x = np.array([2.0, 0.0, np.inf, -np.inf, np.nan], np.float32)
    builder = Builder("f")
    result = operator("Pow", 13).lower(builder, builder.input("x", (5,), "float32"), builder.constant(np.float32(0)))
    np.testing.assert_array_equal(evaluate(builder.graph((result.name,)), {"x": x})[result.name], np.ones(5))
    assert np.isnan(operator("ReduceMean", 18, keepdims=0).reference(np.zeros((2, 0), np.float32), np.array([1]))).all()


@pytest.mark.parametrize("dtype", ["int32", "uint64"])
def test_log_sum_exp_of_integers_is_rounded_towards_0(dtype: str) -> None:
    x = np.array([[1, 2, 3], [900, 900, 7]], dtype)
    found = operator("ReduceLogSumExp", 18, keepdims=0).reference(x, np.array([1]))
    np.testing.assert_array_equal(found, np.array([3, 900], dtype), strict=True)
    assert operator("ReduceLogSumExp", 18, keepdims=1).reference(x).shape == (1, 1)


def test_integer_quotients_are_those_of_python() -> None:
    x, y = np.array([-7, -7, 7, 7, 6]), np.array([2, -2, 2, -2, 3])
    assert operator("Div", 14).reference(x, y).tolist() == [int(a / b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(3, 5), (5, 4)]),
        ("ii->i", [(4, 4)]),
        ("ii", [(4, 4)]),
        ("...ii,...i->...", [(2, 3, 4, 4), (2, 3, 4)]),
        ("ij,kl->ik", [(3, 5), (4, 2)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("b...d,d->b...", [(2, 3, 4, 5), (5,)]),
        (" i j , j ", [(3, 5), (5,)]),
    ],
)
def test_einsum_of_any_form(equation: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    agree("Einsum", 12, *(rng.standard_normal(shape, np.float32) for shape in shapes), equation=equation)


def test_norms_whose_weights_broadcast() -> None:
    rng = np.random.default_rng(0)
    x, weight, bias = (rng.standard_normal(shape, np.float32) for shape in ((2, 3, 5), (5,), (3, 1)))
    agree("LayerNormalization", 17, x, weight, bias, axis=1)
    agree("LayerNormalization", 17, x.astype(np.float16), weight[:5].astype(np.float16))
    agree("RMSNormalization", 23, x.astype("f8"), weight.astype("f8"), axis=1)


@pytest.mark.parametrize("form", [{}, {"num_heads": 2}])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("turned", [0, 2, 6])
def test_rotations_keep_the_length_of_pairs(form: dict[str, int], interleaved: int, turned: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 7, 12) if form else (2, 2, 7, 6), np.float32)
    angles = rng.standard_normal((50, (turned or 6) // 2), np.float32)
    ids = rng.integers(0, 50, (2, 7))
    options = {**form, "interleaved": interleaved, "rotary_embedding_dim": turned}
    agree("RotaryEmbedding", 23, x, np.cos(angles), np.sin(angles), ids, **options)
    result = lowered("RotaryEmbedding", 23, x, np.cos(angles), np.sin(angles), ids, **options)
    np.testing.assert_allclose(np.square(result).sum(), np.square(x).sum(), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_what_is_quantised_comes_back(dtype: str) -> None:
    x = np.random.default_rng(0).uniform(0, 100, (3, 8)).astype(np.float32)
    scale, zero = np.array([1.0, 0.5, 2.0], np.float32), np.array([0, 1, 2], dtype)
    steps = operator("QuantizeLinear", 21, axis=0).reference(x, scale, zero)
    back = operator("DequantizeLinear", 21, axis=0).reference(steps, scale, zero)
    in_range = x / scale[:, None] + zero[:, None] < np.iinfo(dtype).max
    assert steps.dtype == dtype
    assert (np.abs(back - x) <= scale[:, None] / 2)[in_range].all()


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


def test_powers_between_integers_and_numbers_are_not_lowered() -> None:
    with pytest.raises(UnsupportedOperation, match="Pow"):
        lowered("Pow", 15, np.arange(3), np.ones(3, np.float32))
