"""Element sizes are asked of tensors and their types: no module has numbers of its own."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright
from tilewright.dtypes import dtype_named
from tilewright.graph.types import Tensor
from tilewright.kernels.element_types import C_TYPES, ELEMENT_BYTES

PACKAGE = Path(tilewright.__file__).parent
ROOMS = ("plan", "block", "c_text", "leaves", "lower", "render", "kernels", "tune", "report", "machine")
"""Those that plan and generate: the front ends know formats of files, and the runtime arrays of NumPy."""
SIZE = re.compile(r"\b(ELEMENT|FLOAT|INTEGER|HALF|INT\d+)\w*_(BYTES|BITS)\b[^=\n]*=[\s\d,]*\d|\.itemsize\b")


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_defines_an_element_size(room: str) -> None:
    files = sorted((PACKAGE / room).rglob("*.py"))
    lines = ((file.name, line.strip()) for file in files for line in file.read_text().splitlines())
    assert files
    assert not [f"{name}: {line}" for name, line in lines if SIZE.search(line)]


@pytest.mark.parametrize("line", ["FLOAT_BYTES = 4", "ELEMENT_BYTES: int = 4", "A, FLOAT_BYTES = 16, 4", "x.dtype.itemsize"])
def test_the_pattern_finds_sizes(line: str) -> None:
    assert SIZE.search(line)


@pytest.mark.parametrize("dtype", list(C_TYPES))
def test_sizes_are_those_of_numpy(dtype: str) -> None:
    assert Tensor("x", (3,), dtype).element_bytes == ELEMENT_BYTES[dtype] == np.dtype(dtype_named(dtype)).itemsize
