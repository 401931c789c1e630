"""Calls of a kernel in Triton's interpreter, with arguments of every kind: for the process of `triton_process.py`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import tilewright as tw
from tests.support.triton_programs import softmax
from tilewright.api.kernel import Kernel
from tilewright.errors import DTypeError, ShapeError

SHAPE = (37, 50)


def compiled(dtype: str = "float32") -> Kernel:
    """Softmax of rows."""
    return tw.jit(lambda x: tw.softmax(x, axis=-1), target="a100").lower(tw.spec(SHAPE, dtype)).compile(runner="interpreter")


def rows(dtype: str = "float32") -> np.ndarray[Any, np.dtype[Any]]:
    return np.random.default_rng(0).standard_normal(SHAPE).astype(dtype)


def given_in(kind: str) -> None:
    """Call with an argument of a kind."""
    import torch

    kernel, x = compiled(), rows()
    wanted = softmax(x)
    match kind:
        case "strides":
            found = kernel(np.asfortranarray(x))
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
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-7)


def in_bfloat16() -> None:
    """Tensors of a type that NumPy has only with ml_dtypes."""
    import torch

    kernel, x = compiled("bfloat16"), torch.from_numpy(rows()).to(torch.bfloat16)
    found = kernel(x)
    assert found.dtype == torch.bfloat16
    np.testing.assert_allclose(found.float().numpy(), softmax(x.float().numpy()), rtol=8e-3, atol=1e-4)


def refused() -> list[str]:
    """What wrong arguments raise."""
    found = []
    for wrong in (rows()[:5], rows("float64")):
        try:
            compiled()(wrong)
        except (ShapeError, DTypeError) as problem:
            found.append(type(problem).__name__)
    return found
