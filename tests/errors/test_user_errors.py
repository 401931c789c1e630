"""Every error that a user can cause says what, where, why, and what to try. An internal error here is a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw

X = np.ones((2, 3), np.float32)
Y = np.ones((4, 5), np.float32)
OUT = np.zeros((2, 3), np.float32)
HEADS = np.ones((2, 6, 5, 4), np.float32)
attend = tw.scaled_dot_product_attention


def scale(x: Any, y: Any) -> Any:
    return x * y


def gpu(function: Callable[..., Any]) -> Any:
    """A function for a device that does not compute in all types."""
    return tw.jit(function, target="a100")


class Opaque:
    pass


CASES: dict[str, tuple[Callable[[], Any], type[tw.TilewrightError], str]] = {
    "float64 argument": (
        lambda: tw.jit(scale, target="ascend910").lower(X.astype("f8"), X),
        tw.DTypeError,
        "argument 'x' has dtype float64\n"
        "  why: compiled kernels take float16, float32, truth values and integers\n"
        "  hint: convert it: x.astype(numpy.float32); or pass interpret=True to interpret the function in NumPy",
    ),
    "complex argument in a container": (
        lambda: tw.jit(lambda p: p["w"][0] * 2)({"w": [X.astype("c8")]}),
        tw.DTypeError,
        "argument \"p['w'][0]\" has dtype complex64\n",
    ),
    "texts": (
        lambda: tw.jit(scale)(X, np.array(["a"])),
        tw.DTypeError,
        "  why: elements are truth values, integers and real numbers of up to 64 bits\n"
        "  hint: convert them to numbers before the call",
    ),
    "dates": (lambda: tw.jit(lambda x: x)(np.array(["2026-01-01"], "M8[s]")), tw.DTypeError, "hint: pass the counts: x.view("),
    "objects": (lambda: tw.jit(lambda x: x)(np.array([None])), tw.DTypeError, "argument 'x' has dtype object"),
    "long double": (lambda: tw.jit(lambda x: x)(X.astype("g"), interpret=True), tw.DTypeError, "astype(numpy.float64)"),
    "float8 arithmetic": (
        lambda: tw.jit(lambda x: x + x)(X.astype(ml_dtypes.float8_e5m2)),
        tw.DTypeError,
        "add of float8_e5m2 elements",
    ),
    "a number beside integers": (
        lambda: tw.jit(lambda x, n: x * n)(np.arange(3), 2),
        tw.DTypeError,
        "multiply of int64 elements and the number 'n'",
    ),
    "integers returned": (lambda: gpu(lambda x: x * 2).lower(np.arange(3)), tw.DTypeError, "returns int64 elements (out)"),
    "integers summed": (lambda: gpu(lambda x: x.sum()).lower(np.arange(3)), tw.DTypeError, "sum of int64 elements"),
    "integers multiplied": (
        lambda: gpu(lambda x, y: x @ y).lower(X, np.ones((3, 2), np.int32)),
        tw.DTypeError,
        "matmul of float32 elements and int32 elements has float64 elements",
    ),
    "fractions as integers": (lambda: gpu(lambda x: x.astype(int)).lower(X), tw.DTypeError, "float32 values as int64"),
    "positions beyond float32": (
        lambda: tw.jit(lambda x: x + tw.arange(1 << 25).astype(np.float32))(X),
        tw.ShapeError,
        "arange runs from 0 to 33554431",
    ),
    "float64 constant": (
        lambda: gpu(lambda x: x * np.ones(3)).lower(X),
        tw.DTypeError,
        "a constant of the function has dtype float64",
    ),
    "complex constant": (
        lambda: tw.jit(lambda x: x * np.ones(3, complex))(X),
        tw.DTypeError,
        "a constant of the function has dtype complex128",
    ),
    "truth values returned": (lambda: gpu(lambda x: x > 0).lower(X), tw.DTypeError, "return where(condition, 1.0, 0.0)"),
    "object argument": (
        lambda: tw.jit(scale)(X, Opaque()),
        tw.DTypeError,
        "argument 'y' holds a Opaque, which is no array\n"
        "  hint: convert it to a NumPy array, or make it static: tw.jit(static_argnames=('y',))",
    ),
    "unhashable static argument": (
        lambda: tw.jit(scale, static_argnames="y")(X, [1, 2]),
        tw.TilewrightError,
        "the static argument 'y' is not hashable",
    ),
    "bytes": (lambda: gpu(lambda x: x * 2).lower(b"abcd"), tw.DTypeError, "returns uint8 elements"),
    "masked array": (
        lambda: tw.jit(scale)(X, np.ma.masked_array(X, X > 0)),
        tw.DTypeError,
        "a masked array cannot be passed\n  where: argument 'y'",
    ),
    "a set returned": (lambda: tw.jit(lambda x: {1, 2})(X), tw.UnsupportedOperation, "a traced function returned a set"),
    "a generator returned": (
        lambda: tw.jit(lambda x: (x * i for i in range(2)))(X),
        tw.UnsupportedOperation,
        "a traced function returned a generator",
    ),
    "nothing to plan": (lambda: tw.jit(lambda x: None).lower(X), tw.TilewrightError, "lambda cannot be planned"),
    "the same memory twice": (
        lambda: tw.jit(lambda x: (x * 2, x * 3))(X, out=(OUT, OUT), interpret=True),
        tw.TilewrightError,
        "elements of out= share memory\n  where: array 1 of out=",
    ),
    "memory that overlaps itself": (
        lambda: tw.jit(lambda x: x * 2)(X, out=np.lib.stride_tricks.as_strided(OUT, (2, 3), (4, 4)), interpret=True),
        tw.TilewrightError,
        "elements of out= share memory\n  where: array 0 of out=",
    ),
    "out for no result": (
        lambda: tw.jit(lambda x: None)(X, out=OUT),
        tw.ShapeError,
        "out is a ndarray, where the function returns None",
    ),
    "half an extent": (lambda: tw.spec((2, 1.5)), tw.ShapeError, "an extent cannot be 1.5"),
    "no shape": (lambda: tw.spec(3), tw.ShapeError, "3 is no shape"),
    "fuse": (lambda: tw.jit(scale, fuse="yes"), tw.TilewrightError, "fuse='yes' is no choice"),
    "target of another type": (lambda: tw.jit(scale, target=3), tw.TilewrightError, "target=3 is no machine"),
    "unknown static name": (lambda: tw.jit(scale, static_argnames="z"), tw.TilewrightError, "'z', which is no parameter"),
    "reserved parameter": (lambda: tw.jit(lambda x, out: x), tw.TilewrightError, "cannot have a parameter 'out'"),
    "precision": (lambda: tw.jit(scale, precision="bfloat16"), tw.DTypeError, "precision='bfloat16' is not available"),
    "threads": (lambda: tw.jit(scale, threads=0), tw.TilewrightError, "threads=0 is no number of threads"),
    "target": (lambda: tw.jit(scale, target="x86-64-v9"), tw.TilewrightError, "x86-64-v"),
    "keys as wide as queries": (
        lambda: tw.jit(attend)(HEADS, HEADS[..., :3], HEADS),
        tw.ShapeError,
        "of q (2, 6, 5, 4), k (2, 6, 5, 3), v (2, 6, 5, 4)",
    ),
    "as many keys as values": (lambda: attend(HEADS, HEADS, HEADS[:, :, :2]), tw.ShapeError, "differ in more than their width"),
    "dimensions of q, k and v": (lambda: attend(HEADS, HEADS[0], HEADS[0]), tw.ShapeError, "as many dimensions"),
    "shared heads unasked for": (
        lambda: tw.jit(attend)(HEADS, HEADS[:, :2], HEADS[:, :2]),
        tw.ShapeError,
        "hint: enable_gqa=True lets heads of q share those of k and v",
    ),
    "heads shared unevenly": (
        lambda: attend(HEADS, HEADS[:, :4], HEADS[:, :4], enable_gqa=True),
        tw.ShapeError,
        "6 heads of q cannot share 4 heads of k and v evenly",
    ),
    "integers as a mask": (
        lambda: attend(HEADS, HEADS, HEADS, np.ones((5, 5), np.int32)),
        tw.DTypeError,
        "attn_mask has dtype int32\n",
    ),
    "mask of another shape": (
        lambda: attend(HEADS, HEADS, HEADS, np.ones((3, 5, 5), bool)),
        tw.ShapeError,
        "attn_mask has shape (3, 5, 5), which does not broadcast to the scores' (2, 6, 5, 5)",
    ),
    "fractions of keys": (
        lambda: attend(HEADS, HEADS, HEADS, key_lengths=np.ones(2)),
        tw.DTypeError,
        "key_lengths has dtype float64",
    ),
    "lengths beyond int64": (
        lambda: tw.jit(lambda q, n: attend(q, q, q, key_lengths=n))(HEADS, np.ones(2, np.uint64)),
        tw.DTypeError,
        "convert the array with astype(numpy.int64) before the call",
    ),
    "lengths of another batch": (
        lambda: attend(HEADS, HEADS, HEADS, key_lengths=np.ones(3, int)),
        tw.ShapeError,
        "key_lengths has shape (3,)\n  where",
    ),
    "alignment": (
        lambda: attend(HEADS, HEADS, HEADS, is_causal=True, causal_alignment="centre"),
        tw.TilewrightError,
        "choose from top-left, bottom-right",
    ),
    "window": (lambda: attend(HEADS, HEADS, HEADS, window=(-1, 2)), tw.TilewrightError, "window=(-1, 2) is no pair"),
    "a truth value as window": (lambda: attend(HEADS, HEADS, HEADS, window=True), tw.TilewrightError, "window=True is no pair"),
    "infinite soft cap": (lambda: attend(HEADS, HEADS, HEADS, softcap=np.inf), tw.TilewrightError, "softcap=inf bounds no"),
    "soft cap": (lambda: attend(HEADS, HEADS, HEADS, softcap=-1.0), tw.TilewrightError, "softcap=-1.0 bounds no scores"),
    "traced scale": (
        lambda: tw.jit(lambda q, s: attend(q, q, q, scale=s))(HEADS, 2.0),
        tw.DTypeError,
        "numbers are static: name the argument in static_argnames",
    ),
    "normalized shape": (lambda: tw.jit(lambda x: tw.layer_norm(x, 4))(X), tw.ShapeError, "why: normalized_shape is (4,)"),
    "weight of a plain norm": (
        lambda: tw.layer_norm(X, 3, np.ones(2, np.float32)),
        tw.ShapeError,
        "give them the extents of the axes: (3,)",
    ),
    "bias of a norm": (
        lambda: tw.jit(lambda x: tw.layer_norm(x, 3, bias=np.ones(1, np.float32)))(X),
        tw.ShapeError,
        "a weight or bias has shape (1,)",
    ),
    "norm of integers": (lambda: tw.rms_norm(np.ones((2, 3), int)), tw.DTypeError, "rms_norm of int64 elements"),
    "a function with out": (lambda: tw.jit(np.tanh), tw.TilewrightError, "wrap the function: tw.jit(lambda x: function(x))"),
    "weight of a norm": (
        lambda: tw.jit(lambda x: tw.rms_norm(x, 3, np.ones(2, np.float32)))(X),
        tw.ShapeError,
        "give them the extents of the axes: (3,)",
    ),
    "shapes": (
        lambda: tw.jit(lambda x, y: x @ y)(X, Y),
        tw.ShapeError,
        "cannot multiply (2, 3) by (4, 5)",
    ),
    "broadcasting": (lambda: tw.jit(scale)(X, Y), tw.ShapeError, "shapes (2, 3) and (4, 5) do not broadcast"),
    "einsum extents": (
        lambda: tw.jit(lambda x, y: tw.einsum("ij,jk->ik", x, y))(X, Y),
        tw.ShapeError,
        "index 'j' has extents 3 and 4",
    ),
    "axis": (lambda: tw.jit(lambda x: tw.softmax(x, axis=2))(X), tw.ShapeError, "axis 2 does not exist in an array with 2"),
    "reshape": (lambda: tw.jit(lambda x: x.reshape(4, 2))(X), tw.ShapeError, "cannot reshape (2, 3) into (4, 2)"),
    "branch on a value": (
        lambda: tw.jit(lambda x: x if x.sum() > 0 else -x)(X),
        tw.UnsupportedOperation,
        "the truth of a traced array was asked for",
    ),
    "unknown NumPy function": (
        lambda: tw.jit(lambda x: np.linalg.svd(x))(X),
        tw.UnsupportedOperation,
        "numpy.linalg.svd cannot be traced",
    ),
    "something else returned": (
        lambda: tw.jit(lambda x: x * 2)(X, out=[np.zeros((2, 3), "f4")] * 2, interpret=True),
        tw.ShapeError,
        "out is a list, where the function returns an array",
    ),
    "two ranges of a symbol": (
        lambda: tw.jit(scale).lower(tw.spec((tw.Dim("s", high=9),)), tw.spec((tw.Dim("s", high=8),))),
        tw.TilewrightError,
        "the symbol 's' has two ranges",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_the_message_says(name: str) -> None:
    action, kind, text = CASES[name]
    with pytest.raises(tw.TilewrightError) as caught:
        action()
    assert type(caught.value) is kind or issubclass(type(caught.value), kind)
    assert text in str(caught.value)
    assert caught.value.why or caught.value.hint


@pytest.mark.parametrize(
    "name", ["float64 constant", "complex constant", "shapes", "broadcasting", "einsum extents", "axis", "branch on a value"]
)
def test_errors_while_tracing_name_the_users_line(name: str) -> None:
    with pytest.raises(tw.TilewrightError) as caught:
        CASES[name][0]()
    assert "test_user_errors.py:" in caught.value.where


@pytest.mark.parametrize("result", [None, 3.5, (1, "a"), {"k": [True, None]}])
@pytest.mark.parametrize("interpret", [False, True])
def test_a_result_without_arrays_is_returned_as_it_is(result: Any, interpret: bool) -> None:
    function = tw.jit(lambda x: result)
    for _ in range(2):
        assert function(X, interpret=interpret) == result
        assert function(x=X, interpret=interpret) == result


def test_wrong_calls_fail_as_python_calls_do() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        tw.jit(scale)(X)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        tw.jit(scale)(X, X, z=X)


def test_a_gradient_is_refused_with_the_argument() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(tw.UnsupportedOperation, match="requires a gradient") as caught:
        tw.jit(scale)(X, torch.ones((2, 3), requires_grad=True))
    assert "argument 'y'" in caught.value.where
    assert caught.value.hint == "pass x.detach()"
