"""One call of an ATen operator, as its lowering sees it: operands by name, and what torch says of the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.torch.element_types import NAMES
from tilewright.graph.builders import elementwise
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.extents import Extent, SymbolicExtent
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Tensor
from tilewright.records import record

LARGEST_WHOLE_DOUBLE = 1 << 53
"""Up to it, float64 holds every integer."""


@record
class Result:
    """What torch says of a result."""

    shape: tuple[Extent, ...]
    dtype: str
    is_used: bool
    """Whether anything reads it."""


class Call:
    """A call: `call["alpha"]` is the operand of that name, as it is given: a tensor, a number, an extent, a list, or None."""

    def __init__(
        self,
        builder: Builder,
        overload: str,
        operands: Mapping[str, Any],
        examples: Mapping[str, Any],
        results: tuple[Result, ...],
        constant: Callable[[torch.Tensor], Tensor],
    ) -> None:
        self.builder, self.overload, self.results = builder, overload, results
        self._operands, self._examples, self._constant = operands, examples, constant

    def __getitem__(self, name: str) -> Any:
        """An operand, or the default of the schema."""
        return self._operands[name]

    def has(self, name: str) -> bool:
        """Whether the schema has an operand of this name."""
        return name in self._operands

    def example(self, name: str) -> Any:
        """What torch knows of an operand: of a tensor, its strides, too."""
        return self._examples[name]

    @property
    def result(self) -> Result:
        """The first result."""
        return self.results[0]

    @property
    def operator(self) -> str:
        """The name without namespace and overload: "add" of "aten.add.Tensor"."""
        return self.overload.split(".")[1]

    # Operands

    def tensor(self, name: str, dtype: str | None = None) -> Tensor:
        """An operand that is a tensor, as torch converts it to a type. Raises `UnsupportedOperation` for all others."""
        return self.as_tensor(self._operands[name], dtype)

    def optional(self, name: str, dtype: str | None = None) -> Tensor | None:
        """A tensor, or None where it is left out."""
        return None if self._operands[name] is None else self.tensor(name, dtype)

    def tensors(self, name: str, dtype: str | None = None) -> list[Tensor]:
        """A list of tensors."""
        return [self.as_tensor(value, dtype) for value in self._operands[name]]

    def as_tensor(self, value: Any, dtype: str | None = None) -> Tensor:
        """The tensor of a value, with its type changed if one is given."""
        if isinstance(value, torch.Tensor):
            value = self._constant(value)
        if not isinstance(value, Tensor):
            raise UnsupportedOperation(f"{self.overload} of {type(value).__name__} where a tensor is expected")
        return value if dtype is None else self.cast(value, dtype)

    def operand(self, name: str, dtype: str) -> Tensor | float:
        """A tensor or number in a type. Extents are tensors, and so are integers that float64 cannot hold."""
        return self.as_operand(self._operands[name], dtype)

    def as_operand(self, value: Any, dtype: str) -> Tensor | float:
        """The same of a value."""
        if isinstance(value, SymbolicExtent):
            return self.cast(self.builder.record(elementwise.extent, value, kind="extent"), dtype)
        if isinstance(value, bool | int | float):
            if isinstance(value, int) and abs(value) > LARGEST_WHOLE_DOUBLE:
                return self.builder.literal(np.array(value, dtype))
            return float(value)
        return self.as_tensor(value, dtype)

    def common_type(self, *names: str) -> str:
        """The type to which torch promotes operands of these names; those left out do not count."""
        examples = [self._examples[name] for name in names if self._examples[name] is not None]
        if len(examples) == 1:
            return NAMES[examples[0].dtype] if isinstance(examples[0], torch.Tensor) else NAMES[torch.result_type(examples[0], 0)]
        common = torch.result_type(*examples[:2])
        for example in examples[2:]:
            common = torch.promote_types(common, example.dtype if isinstance(example, torch.Tensor) else common)
        return self.known_type(common)

    def known_type(self, dtype: torch.dtype) -> str:
        """The name of a type. Raises `UnsupportedOperation` for one that graphs do not have."""
        if dtype not in NAMES:
            raise UnsupportedOperation(f"{self.overload} in {dtype}")
        return NAMES[dtype]

    # Recording

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """A tensor in another type, as torch converts: numbers are true where they are not 0, integers lose the fraction."""
        if x.dtype == dtype:
            return x
        if dtype == "bool":
            return self.builder.body(apply("not_equal", Load(0), Literal(0.0)), x, dtype="bool", kind="cast")
        if "float" in x.dtype and "int" in dtype:
            return self.builder.body(apply("trunc", Load(0)), x, dtype=dtype, kind="cast")
        return self.builder.cast(x, dtype)

    def map(self, function: str, *operands: Tensor | float, dtype: str | None = None) -> Tensor:
        """A function at every point, stored as the result's type unless told."""
        return self.builder.map(function, *operands, dtype=dtype or self.result.dtype)

    def body(self, body: Scalar, *operands: Tensor | float, dtype: str | None = None, accumulator: str | None = None) -> Tensor:
        """An expression of the elements of operands (`Load(i)`) at every point, stored as the result's type unless told."""
        kind = self.operator.strip("_")
        return self.builder.body(body, *operands, dtype=dtype or self.result.dtype, accumulator=accumulator, kind=kind)

    def double(self, name: str) -> Tensor:
        """An operand as float64, rounded to the result's type before."""
        return self.cast(self.tensor(name, self.result.dtype), "float64")

    def in_double(self, body: Scalar, *operands: Tensor) -> Tensor:
        """An expression at every point, in float64."""
        return self.body(body, *operands, dtype="float64")

    def refuse(self, why: str) -> UnsupportedOperation:
        """The error by which a lowering leaves the call to torch."""
        return UnsupportedOperation(self.overload, why=why)
