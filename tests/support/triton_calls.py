"""Calls of a kernel in Triton's interpreter, with arguments of every kind: for the process of `triton_process.py`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import tilewright as tw
from tests.support.triton_programs import gelu, softmax, turned
from tilewright.api.kernel import Kernel
from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.tracing.traced import Traced

SHAPE = (37, 50)


def compiled(dtype: str = "float32") -> Kernel:
    """Softmax of rows."""
    return tw.jit(lambda x: tw.softmax(x, axis=-1), target="a100").lower(tw.spec(SHAPE, dtype)).compile(runner="interpreter")


def rows(dtype: str = "float32") -> np.ndarray[Any, np.dtype[Any]]:
    return np.random.default_rng(0).standard_normal(SHAPE).astype(dtype)


def given_in(kind: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A call with an argument of a kind: its result, and what is wanted."""
    import torch

    kernel, x = compiled(), rows()
    wanted = softmax(x)
    match kind:
        case "strides":
            found = kernel(np.asfortranarray(x))
        case "byte order":
            found = kernel(x.astype(x.dtype.newbyteorder()))
        case "read-only":
            x.flags.writeable = False
            found = kernel(x)
        case "torch":
            found = kernel(torch.from_numpy(x))
            assert isinstance(found, torch.Tensor)
        case "out":
            found = np.empty(SHAPE, np.float32).T.copy().T
            assert kernel(x, out=found) is found
        case "threads":
            with ThreadPoolExecutor(3) as pool:
                several = list(pool.map(kernel, [x] * 6))
            assert all(np.array_equal(several[0], one) for one in several)
            found = several[0]
        case "profile":
            found = np.empty(SHAPE, np.float32)
            ((name, seconds),) = kernel._executable.profile([x], [found])
            assert name
            assert seconds > 0
    return np.asarray(found), wanted


def in_bfloat16() -> tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A tensor of a type that NumPy has only with ml_dtypes: the type and numbers of the result, and what is wanted."""
    import torch

    kernel, x = compiled("bfloat16"), torch.from_numpy(rows()).to(torch.bfloat16)
    found = kernel(x)
    return str(found.dtype), found.float().numpy(), softmax(x.float().numpy())


def refused() -> list[str]:
    """What wrong arguments raise."""
    found = []
    for wrong in (rows()[:5], rows("float64")):
        try:
            compiled()(wrong)
        except (ShapeError, DTypeError) as problem:
            found.append(type(problem).__name__)
    return found


def block_error(target: str) -> tuple[float, list[int]]:
    """The error of a transformer block of halves, and how many products every kernel has."""
    length, width, heads, inner = 48, 64, 4, 128

    def split(x: Any) -> Any:
        return np.swapaxes(np.reshape(x, (length, heads, width // heads)), 0, 1)

    def block(x: Any, wq: Any, wk: Any, wv: Any, wo: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        scores = split(x @ wq) @ turned(split(x @ wk)) * 0.25
        mixed = (tw.softmax(scores, axis=-1) if isinstance(x, Traced) else softmax(scores)) @ split(x @ wv)
        y = x + np.reshape(np.swapaxes(mixed, 0, 1), (length, width)) @ wo
        hidden = y @ w1 + b1
        return y + (tw.gelu(hidden) if isinstance(x, Traced) else gelu(hidden)) @ w2 + b2

    shapes = [(length, width), *[(width, width)] * 4, (width, inner), (inner,), (inner, width), (width,)]
    generator = np.random.default_rng(0)
    arguments = [(generator.standard_normal(shape) * shape[0] ** -0.5).astype(np.float16) for shape in shapes]
    lowered = tw.jit(block, target=target).lower(*(tw.spec(shape, "float16") for shape in shapes))
    found = np.asarray(lowered.compile(runner="interpreter")(*arguments)).astype(float)
    wanted = block(*(x.astype(float) for x in arguments))
    chains = [plan.chain.operators for plan in lowered.model_plan.plans]
    products = [sum(operator.is_product_sum() for operator in chain) for chain in chains]
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted)), products


def constants_error() -> float:
    """The error of a product with constants, whose factors go into its weights."""
    generator = np.random.default_rng(0)
    weight, scale, bias = (generator.standard_normal(shape).astype(np.float16) for shape in ((50, 30), (30,), (30,)))
    x = generator.standard_normal(SHAPE).astype(np.float16)
    function = tw.jit(lambda x: (x @ weight) * scale + bias, target="h100")
    found = np.asarray(function.lower(tw.spec(SHAPE, "float16")).compile(runner="interpreter")(x)).astype(float)
    wanted = (x.astype(float) @ weight.astype(float)) * scale.astype(float) + bias.astype(float)
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))
