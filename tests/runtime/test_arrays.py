from __future__ import annotations

import array
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilewright import errors
from tilewright.errors import DTypeError, UnsupportedOperation
from tilewright.runtime.arrays import as_array, is_torch_tensor, like


class OnlyDLPack:
    """An array of another library, as far as the array API standard goes."""

    def __init__(self, content: np.ndarray[Any, np.dtype[Any]]) -> None:
        self.content = content

    def __dlpack__(self, **options: Any) -> Any:
        return self.content.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __array_namespace__(self) -> type[OnlyDLPack]:
        return OnlyDLPack

    @staticmethod
    def from_dlpack(other: Any) -> OnlyDLPack:
        return OnlyDLPack(np.from_dlpack(other))


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def test_numpy_is_taken_as_it_is() -> None:
    x = np.zeros((2, 3), np.float16)[:, ::2]
    assert as_array(x) is x


@pytest.mark.parametrize(
    ("x", "dtype", "shape"),
    [
        (array.array("d", [1, 2, 3]), "float64", (3,)),
        (memoryview(bytearray(12)).cast("i", (1, 3)), "int32", (1, 3)),
        (b"abc", "uint8", (3,)),
        (np.float32(2), "float32", ()),
        (OnlyDLPack(np.ones((2, 2), np.int16)), "int16", (2, 2)),
    ],
)
def test_foreign_arrays_keep_type_and_shape(x: object, dtype: str, shape: tuple[int, ...]) -> None:
    read = as_array(x)
    assert (read.dtype.name, read.shape) == (dtype, shape)


def test_memory_is_shared() -> None:
    x = array.array("f", [1, 2])
    as_array(x)[0] = 5
    assert x[0] == 5
    y = OnlyDLPack(np.ones(3))
    assert np.shares_memory(as_array(y), y.content)


@pytest.mark.parametrize("x", [[1.0, 2.0], 1.5, "text", None, {"a": 1}])
def test_what_is_no_array_is_refused(x: object) -> None:
    with pytest.raises(DTypeError, match=f"cannot read a {type(x).__name__} as an array") as caught:
        as_array(x)
    assert "numpy.asarray" in caught.value.hint


def test_torch_tensors_are_read_in_place(torch: Any) -> None:
    tensor = torch.zeros(3, 4)[:, ::2].T
    read = as_array(tensor)
    read[1, 2] = 7
    assert tensor[1, 2] == 7
    assert read.strides == (8, 16)
    assert as_array(torch.ones(2, dtype=torch.bfloat16)).dtype == ml_dtypes.bfloat16
    assert as_array(torch.nn.Parameter(torch.ones(2), requires_grad=False)).tolist() == [1, 1]


def test_torch_tensors_with_gradient_are_refused(torch: Any) -> None:
    with pytest.raises(UnsupportedOperation, match="requires a gradient") as caught:
        as_array(torch.ones(2, requires_grad=True))
    assert "detach" in caught.value.hint
    assert caught.value.hint == "pass x.detach()"


def test_other_tensors_are_refused(torch: Any) -> None:
    with pytest.raises(UnsupportedOperation, match=r"device meta.*cannot be passed"):
        as_array(torch.ones(2, device="meta"))
    with pytest.raises(UnsupportedOperation, match="sparse"):
        as_array(torch.ones(2, 2).to_sparse())


def test_results_come_back_in_kind(torch: Any) -> None:
    result = np.arange(3, dtype=np.float32)
    assert like(np.zeros(1), result) is result
    assert like(b"bytes", result) is result
    tensor = like(torch.zeros(1), result)
    assert is_torch_tensor(tensor)
    assert np.shares_memory(as_array(tensor), result)
    assert like(torch.zeros(1), result.astype(ml_dtypes.bfloat16)).dtype == torch.bfloat16
    other = like(OnlyDLPack(np.zeros(1)), result)
    assert isinstance(other, OnlyDLPack)
    assert np.shares_memory(other.content, result)


def test_torch_is_not_imported() -> None:
    source = Path(errors.__file__).parents[1]
    script = """
import sys, numpy
from tilewright.runtime.arrays import as_array, like
like(as_array(memoryview(b"x")), numpy.zeros(1))
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, env={"PYTHONPATH": str(source)}, timeout=60)
