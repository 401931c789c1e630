"""A convolution with a norm before it and element-wise operators behind it, as an ONNX model with operands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, np.dtype[Any]]
Extents = tuple[int, ...]
ANY = "any"
INFINITE = (np.inf, -np.inf, np.nan)
PROLOGUES = ("relu", "silu", "group norm", "instance norm", "batch norm", "layer norm", "pad", "residual before")
EPILOGUES = ("relu", "silu", "leaky relu", "clip", "sigmoid", "hard swish", "residual", "scale", "gelu", "batch norm", "max pool")


@dataclass(frozen=True, slots=False)
class Convolution:
    """Extents are those of the dimensions of space; `special` says which operand has infinities and NaN."""

    seed: int
    style: str
    batch: int
    channels: int
    filters: int
    image: Extents
    kernel: Extents
    stride: Extents
    begin: Extents
    end: Extents
    dilation: Extents
    groups: int = 1
    transposed: bool = False
    output_padding: Extents = ()
    has_bias: bool = True
    prologue: tuple[str, ...] = ()
    epilogue: tuple[str, ...] = ()
    is_channels_last: bool = False
    """Whether images come with their channels last, and leave so, by transpositions."""
    has_two_readers: bool = False
    """Whether the result of the convolution is an output, too."""
    has_constant_filters: bool = True
    dynamic: tuple[int, ...] = ()
    """Dimensions of the image whose extents are known when it is called."""
    special: str = ""
    target: str = ""
    algorithm: str = ""
    """That is taken where it applies; `ANY`: one that is drawn; empty: by price."""
    precision: str = "float32"
    threads: int = 1

    @property
    def output(self) -> Extents:
        borders = [first + last for first, last in zip(self.begin, self.end, strict=True)]
        sizes = zip(self.image, self.kernel, self.stride, self.dilation, borders, strict=True)
        if self.transposed:
            more = self.output_padding or (0,) * len(self.image)
            found = [(points - 1) * step + gap * (taps - 1) + 1 - border for points, taps, step, gap, border in sizes]
            return tuple(one + extra for one, extra in zip(found, more, strict=True))
        return tuple((points + border - gap * (taps - 1) - 1) // step + 1 for points, taps, step, gap, border in sizes)

    @property
    def is_right(self) -> bool:
        """Whether it has results, and groups that divide its channels."""
        divided = self.channels % self.groups == 0 and self.filters % self.groups == 0
        return divided and min(self.output) > 0 and min(self.image) > 0

    @property
    def multiplications(self) -> int:
        points = self.image if self.transposed else self.output
        return self.batch * self.filters * (self.channels // self.groups) * prod(self.kernel) * prod(points)

    @property
    def filter_shape(self) -> Extents:
        first, second = (self.channels, self.filters) if self.transposed else (self.filters, self.channels)
        return (first, second // self.groups, *self.kernel)

    def text(self) -> str:
        """All that is not usual."""
        usual = {name: field.default for name, field in self.__dataclass_fields__.items()}
        return ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if name in usual and value != usual[name])

    @cached_property
    def _made(self) -> tuple[bytes, dict[str, Array]]:
        return _Writer(self).model()

    def model(self) -> bytes:
        return self._made[0]

    def feeds(self) -> dict[str, Array]:
        return self._made[1]


class _Writer:
    """The nodes of a program, in order."""

    def __init__(self, program: Convolution) -> None:
        self.program = program
        self.generator = np.random.default_rng(program.seed)
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}
        self.feeds: dict[str, Array] = {}
        self.rank = len(program.image)

    def model(self) -> tuple[bytes, dict[str, Array]]:
        program = self.program
        image = self._normal((program.batch, program.channels, *program.image))
        if program.special == "image":
            self._spoil(image)
        last = self._order(is_back=False)
        self.feeds["x"] = np.ascontiguousarray(image.transpose(last)) if program.is_channels_last else image
        value = self._node("Transpose", "x", perm=self._order(is_back=True)) if program.is_channels_last else "x"
        for name in program.prologue:
            value = self._placed(name, value, program.channels, program.image)
        value = self._convolution(value)
        if program.has_two_readers:
            self.nodes.append(helper.make_node("Identity", [value], ["z"]))
        for name in program.epilogue:
            value = self._placed(name, value, program.filters, program.output)
        if program.is_channels_last:
            value = self._node("Transpose", value, perm=last)
        self.nodes.append(helper.make_node("Identity", [value], ["y"]))
        return self._file(), self.feeds

    def _file(self) -> bytes:
        inputs = [self._input(name, array.shape) for name, array in self.feeds.items()]
        names = ("y", "z") if self.program.has_two_readers else ("y",)
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * (2 + self.rank)) for name in names]
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "convolution", inputs, results, constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return bytes(made.SerializeToString())

    def _input(self, name: str, shape: Extents) -> Any:
        hidden = self.program.dynamic if name == "x" else ()
        extents = [f"d{axis}" if axis in hidden else extent for axis, extent in enumerate(shape)]
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, extents)

    def _convolution(self, x: str) -> str:
        program = self.program
        steps = program.channels // program.groups * prod(program.kernel)
        filters = self._normal(program.filter_shape) * np.float32(steps**-0.5)
        if program.special == "filters":
            self._spoil(filters)
        operands = [x, self._operand("w", filters, is_constant=program.has_constant_filters)]
        operands += [self._constant(self._normal((program.filters,)))] if program.has_bias else []
        how: dict[str, Any] = {"output_padding": program.output_padding} if program.output_padding else {}
        return self._node(
            "ConvTranspose" if program.transposed else "Conv",
            *operands,
            strides=program.stride,
            pads=[*program.begin, *program.end],
            dilations=program.dilation,
            group=program.groups,
            **how,
        )

    def _placed(self, name: str, x: str, channels: int, points: Extents) -> str:
        ones = (1,) * self.rank
        match name:
            case "relu":
                return self._node("Relu", x)
            case "silu":
                return self._node("Mul", x, self._node("Sigmoid", x))
            case "gelu":
                erf = self._node("Erf", self._node("Mul", x, self._number(0.5**0.5)))
                return self._node("Mul", self._node("Mul", x, self._number(0.5)), self._node("Add", erf, self._number(1.0)))
            case "leaky relu":
                return self._node("LeakyRelu", x, alpha=0.1)
            case "clip":
                return self._node("Clip", x, self._number(0.0), self._number(1.5))
            case "sigmoid":
                return self._node("Sigmoid", x)
            case "hard swish":
                return self._node("HardSwish", x)
            case "residual" | "residual before":
                return self._node("Add", x, self._operand("r" + name[8:9], self._normal((self.program.batch, channels, *points))))
            case "scale":
                return self._node("Mul", x, self._constant(self._normal((channels, *ones))))
            case "pad":
                counts = [0, 0, *(1,) * self.rank, 0, 0, *(0,) * self.rank]
                padded = self._node("Pad", x, self._constant(np.array(counts, np.int64)))
                starts, ends, axes = ([one] * self.rank for one in (1, 2**31, 0))
                axes = list(range(2, 2 + self.rank))
                bounds = [self._constant(np.array(one, np.int64)) for one in (starts, ends, axes)]
                return self._node("Slice", padded, *bounds)
            case "max pool":
                return self._node("MaxPool", x, kernel_shape=[1] * (self.rank - 1) + [min(2, points[-1])])
            case "batch norm":
                mean, scale, shift = (self._constant(self._normal((channels,))) for _ in range(3))
                return self._node("BatchNormalization", x, scale, shift, mean, self._positive(channels))
            case "instance norm":
                return self._node("InstanceNormalization", x, self._positive(channels), self._constant(self._normal((channels,))))
            case "group norm":
                return self._group_norm(x, channels)
            case "layer norm":
                turned = self._node("Transpose", x, perm=self._order(is_back=False))
                operands = (self._constant(self._normal((channels,))) for _ in range(2))
                return self._node(
                    "Transpose", self._node("LayerNormalization", turned, *operands), perm=self._order(is_back=True)
                )
        raise ValueError(name)

    def _group_norm(self, x: str, channels: int) -> str:
        groups = next(one for one in (4, 3, 2, 1) if channels % one == 0)
        rows = self._node("Reshape", x, self._constant(np.array([0, groups, -1], np.int64)))
        ones, zeros = self._constant(np.ones(groups, np.float32)), self._constant(np.zeros(groups, np.float32))
        normal = self._node("InstanceNormalization", rows, ones, zeros)
        back = self._node("Reshape", normal, self._node("Shape", x))
        scale, shift = (self._constant(self._normal((channels, *(1,) * self.rank))) for _ in range(2))
        return self._node("Add", self._node("Mul", back, scale), shift)

    def _order(self, *, is_back: bool) -> list[int]:
        """Of transpositions to channels last, and back."""
        return [0, self.rank + 1, *range(1, self.rank + 1)] if is_back else [0, *range(2, self.rank + 2), 1]

    def _node(self, operator: str, *operands: str, **attributes: Any) -> str:
        result = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(operands), [result], **attributes))
        return result

    def _number(self, value: float) -> str:
        return self._constant(np.float32(value))

    def _constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def _operand(self, name: str, array: Array, *, is_constant: bool = False) -> str:
        if is_constant:
            return self._constant(array)
        name = f"{name}{len(self.feeds)}"
        self.feeds[name] = array
        return name

    def _positive(self, channels: int) -> str:
        return self._constant(self.generator.uniform(0.5, 2.0, channels).astype(np.float32))

    def _normal(self, shape: Extents) -> Array:
        return self.generator.standard_normal(shape, np.float32)

    def _spoil(self, array: Array) -> None:
        """One to three elements become infinite or NaN; two of three times all of the same kind."""
        flat, count = array.reshape(-1), int(self.generator.integers(1, 4))
        kinds = self.generator.choice(INFINITE, count if self.generator.integers(3) == 0 else 1)
        flat[self.generator.integers(0, flat.size, count)] = np.resize(kinds, count)
