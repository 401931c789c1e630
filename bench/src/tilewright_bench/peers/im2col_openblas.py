"""im2col and the product by NumPy's OpenBLAS, the baseline of SConv; of pointwise convolutions the product alone, without a copy.

K. Chellapilla, S. Puri, P. Simard, "High Performance Convolutional Neural Networks for Document Processing", IWFHR 2006. The copy
(`im2col_openblas.c`) is one in C that writes every element of the matrix once, as that of Caffe does.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.artifact import Artifact
from tilewright.entry_point import Signature
from tilewright.machine.machine import Machine
from tilewright.runtime import loader
from tilewright.runtime.compilation import libraries, toolchain
from tilewright.runtime.store import cache as kernel_cache
from tilewright_bench.cases.case import FloatArray, aligned
from tilewright_bench.cases.conv import ConvCase
from tilewright_bench.cases.conv_shapes import ConvShape
from tilewright_bench.measurement.contender import Contender, Peer

NAME = "im2col+openblas"


def prepare(case: ConvCase, threads: int) -> Iterator[Contender]:
    """The number of threads was set in the environment before NumPy was imported; the copy runs on one."""
    shape, out = case.shape, aligned(case.result_shape)
    rows = case.filters.reshape(shape.groups, shape.filters // shape.groups, -1)
    result = out.reshape(*rows.shape[:2], -1)
    windows = case.image if shape.is_pointwise else aligned((rows.shape[0] * rows.shape[2] * result.shape[2],))
    columns = windows.reshape(rows.shape[0], rows.shape[2], -1)
    copy = None if shape.is_pointwise else copy_of(shape, case.image, windows)

    def call() -> None:
        if copy is not None:
            copy()
        np.matmul(rows, columns, out=result)

    yield Contender(NAME, call, lambda: out, note="product alone" if shape.is_pointwise else "copy and product")


def copy_of(shape: ConvShape, image: FloatArray, windows: FloatArray) -> Callable[[], None]:
    """A call that writes all windows of an image, [channels, taps, outputs], of one or two dimensions."""
    extents = [(1,) * (2 - len(part)) + part for part in (shape.image, shape.kernel, shape.stride, shape.dilation)]
    borders = (0,) * (2 - len(shape.padding)) + shape.padding
    outputs = (1,) * (2 - len(shape.output)) + shape.output
    numbers = (ctypes.c_long * 13)(shape.channels, *(extent for part in (*extents, borders, outputs) for extent in part))
    copy, source, target = _library().im2col, ctypes.c_void_p(image.ctypes.data), ctypes.c_void_p(windows.ctypes.data)
    return lambda: copy(source, target, numbers)


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    text = Path(__file__).with_suffix(".c").read_text(encoding="utf-8")
    artifact = Artifact("im2col", text, (), platform.machine(), Machine.detect().features, Signature((), (), ()))
    library = loader.load(libraries.build(artifact, toolchain.find(), kernel_cache.default()), ctypes.CDLL)
    library.im2col.restype = None
    return library


PEERS: dict[str, Peer[Any]] = {
    "conv": Peer(
        NAME,
        ("numpy",),
        prepare,
        "a copy in C and matmul into arrays made ahead; pointwise convolutions without the copy",
        prepacked_note="as any other operand",
    )
}
