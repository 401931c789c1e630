"""Convolutions of a list that others drew, each as an ONNX model of one node with bias and ReLU."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tilewright_bench.cases.case import SEED, FloatArray, normal
from tilewright_bench.cases.model import Array, ModelCase

Extents = tuple[int, ...]
OPSET, IR_VERSION = 17, 9


@dataclass(frozen=True, slots=True)
class ListedConv:
    """A convolution, or its transpose, of images [batch, channels, *image]; extents are those of the dimensions of space."""

    kind: str
    channels: int
    filters: int
    image: Extents
    kernel: Extents
    stride: Extents
    begin: Extents
    """Padding before the first point of each dimension;"""
    end: Extents
    """and behind the last one."""
    dilation: Extents
    groups: int = 1
    batch: int = 1
    transposed: bool = False

    @property
    def name(self) -> str:
        """What sets it apart, in few characters.

        >>> ListedConv("stem", 3, 32, (385, 385), (3, 3), (2, 2), (0, 0), (0, 0), (1, 1)).name
        '3x3 3-32@385 s2 p0'
        """
        padding = self.begin if self.begin == self.end else (*self.begin, *self.end)
        half = tuple(gap * (taps - 1) // 2 for taps, gap in zip(self.kernel, self.dilation, strict=True))
        parts = [f"{'transposed ' * self.transposed}{'x'.join(map(str, self.kernel))} {self.channels}-{self.filters}"]
        parts[0] += f"@{_short(self.image)}"
        parts += [f"s{_short(self.stride)}"] if set(self.stride) != {1} else []
        parts += [f"d{_short(self.dilation)}"] if set(self.dilation) != {1} else []
        parts += [f"p{_short(padding)}"] if padding != half else []
        parts += [f"g{self.groups}"] if self.groups > 1 else []
        return " ".join(parts + ([f"n{self.batch}"] if self.batch > 1 else []))

    @property
    def output(self) -> Extents:
        """Points of a filter's result.

        >>> ListedConv("", 3, 32, (385, 385), (3, 3), (2, 2), (0, 0), (0, 0), (1, 1)).output
        (192, 192)
        >>> ListedConv("", 8, 4, (10,), (4,), (2,), (1,), (1,), (1,), transposed=True).output
        (20,)
        """
        borders = tuple(first + last for first, last in zip(self.begin, self.end, strict=True))
        sizes = zip(self.image, self.kernel, self.stride, self.dilation, borders, strict=True)
        if self.transposed:
            return tuple((points - 1) * step + gap * (taps - 1) + 1 - border for points, taps, step, gap, border in sizes)
        return tuple((points + border - gap * (taps - 1) - 1) // step + 1 for points, taps, step, gap, border in sizes)

    @property
    def image_shape(self) -> Extents:
        """(batch, channels, *image)."""
        return (self.batch, self.channels, *self.image)

    @property
    def filter_shape(self) -> Extents:
        """(filters, channels of a group, *taps), or of a transposed one (channels, filters of a group, *taps)."""
        first, second = (self.channels, self.filters) if self.transposed else (self.filters, self.channels)
        return (first, second // self.groups, *self.kernel)

    @property
    def result_shape(self) -> Extents:
        """(batch, filters, *output)."""
        return (self.batch, self.filters, *self.output)

    @property
    def flops(self) -> int:
        """A multiplication and an addition for every tap of every output (of a transposed one: input), those on padding included.

        >>> ListedConv("", 64, 128, (56, 56), (1, 1), (2, 2), (0, 0), (0, 0), (1, 1)).flops
        12845056
        """
        points = self.image if self.transposed else self.output
        return 2 * self.batch * prod(self.filter_shape) * prod(points)

    def weights(self) -> dict[str, FloatArray]:
        """Filters "w" by which results are as large as the image's elements, and a bias "b", the same in every run."""
        generator, steps = np.random.default_rng(SEED + 1), self.channels // self.groups * prod(self.kernel)
        steps = max(1, steps // prod(self.stride)) if self.transposed else steps
        return {"w": normal(self.filter_shape, steps**-0.5, generator), "b": normal((self.filters,), 1.0, generator)}

    def model(self) -> bytes:
        """An ONNX model of the convolution with bias and ReLU, from "x" to "y"."""
        from onnx import TensorProto, helper, numpy_helper

        padding = [*self.begin, *self.end]
        how = {"strides": self.stride, "pads": padding, "dilations": self.dilation, "group": self.groups}
        convolution = helper.make_node("ConvTranspose" if self.transposed else "Conv", ["x", "w", "b"], ["c"], **how)
        shapes = {"x": self.image_shape, "y": self.result_shape}
        first, last = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items())
        constants = [numpy_helper.from_array(array, name) for name, array in self.weights().items()]
        nodes = [convolution, helper.make_node("Relu", ["c"], ["y"])]
        graph = helper.make_graph(nodes, "case", [first], [last], constants)
        opsets = [helper.make_opsetid("", OPSET)]
        return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString())


@dataclass(frozen=True)
class ListedCase(ModelCase):
    """The model of a convolution, in a file."""

    conv: ListedConv | None = None

    @cached_property
    def feeds(self) -> dict[str, Array]:
        """Standard normal data, the same in every run."""
        assert self.conv is not None
        return {"x": normal(self.conv.image_shape, 1.0, np.random.default_rng(SEED))}


def case_of(conv: ListedConv, directory: Path) -> ListedCase:
    """The case, its file in that directory, where it replaces an earlier one."""
    path = directory / "convolution.onnx"
    path.write_bytes(conv.model())
    return ListedCase(path, conv=conv)


def listed(file: Path) -> list[ListedConv]:
    """The convolutions of a CSV file, in its order.

    Its columns are those of two dimensions (ci, co, h, w, kh, kw, sh, sw, top, left, bottom, right, dh, dw) or of any number (ci,
    co, image, kernel, stride, begin, end, dilation: extents as 8x56x56), and kind, groups, batch and transposed (0 or 1).
    """
    with file.open(encoding="utf-8", newline="") as lines:
        return [_of_row(row) for row in csv.DictReader(line for line in lines if not line.startswith("#"))]


_OF_TWO = {
    "image": ("h", "w"),
    "kernel": ("kh", "kw"),
    "stride": ("sh", "sw"),
    "begin": ("top", "left"),
    "end": ("bottom", "right"),
    "dilation": ("dh", "dw"),
}


def _of_row(row: Mapping[str, str]) -> ListedConv:
    extents: dict[str, Any] = {
        name: tuple(map(int, row[name].split("x"))) if name in row else tuple(int(row[column]) for column in columns)
        for name, columns in _OF_TWO.items()
    }
    usual = {"groups": "1", "batch": "1", "transposed": "0"}
    groups, batch, transposed = (int(row.get(name) or least) for name, least in usual.items())
    return ListedConv(
        row["kind"], int(row["ci"]), int(row["co"]), **extents, groups=groups, batch=batch, transposed=transposed == 1
    )


def _short(extents: Extents) -> str:
    return str(extents[0]) if len(set(extents)) == 1 else "x".join(map(str, extents))
