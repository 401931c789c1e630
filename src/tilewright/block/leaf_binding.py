"""The leaf that computes an operator: data that a plan holds, and that the lowering of the leaf alone reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.graph.contraction_roles import ContractionRoles
from tilewright.graph.expressions.index import Index
from tilewright.records import record


@record
class Window:
    """Windows along a dimension of the image: output o and tap k look at the position `stride` * o + `dilation` * k.

    `first` and `last` are the lowest and the highest position inside of the image, None if all are; the last one may be an extent
    known at run time and a number.
    """

    output: str
    tap: str
    taps: int
    stride: int
    dilation: int
    first: int | None = None
    last: int | Index | None = None

    @property
    def waiting(self) -> int:
        """Outputs behind the newest that a position may still take part in."""
        return (self.taps - 1) * self.dilation // self.stride


@record
class MatrixTile:
    """A tile of the matrix product of a contraction, by the name of the micro kernel that computes it."""

    micro_kernel: str
    roles: ContractionRoles
    rows: int
    """Of a whole tile."""
    columns: int
    interleave: int
    """Steps of the depth that lie side by side in the right operand, once it is packed."""
    element_types: tuple[str, str, str]
    """Of the left and the right operand, and of what is stored."""
    accumulator: str
    """The element type of products and their sums."""
    symbol: str | None = None
    """Of the micro kernel's function where that is fixed."""
    right_by_columns: bool = False
    """Whether the right operand is given by columns, which are contiguous."""
    reduction_loops: int = 1
    """Nested reduction loops that pass inside of a tile, the one over the depth included."""


@record
class LeafBinding:
    """The leaf that computes an operator, and what the operator is to it.

    `axes` are those that have a role: (role, axis). `windows` stand outermost first. `numbers` are what else the leaf's code
    depends on, by name. `element_type` is computed in, point by point; "" for vectors of float32. `tile` is what a
    matrix product is computed in.
    """

    leaf: str
    axes: tuple[tuple[str, str], ...] = ()
    windows: tuple[Window, ...] = ()
    numbers: tuple[tuple[str, float], ...] = ()
    element_type: str = ""
    tile: MatrixTile | None = None

    @property
    def title(self) -> str:
        """The leaf, and the micro kernel of its tiles, for people.

        >>> LeafBinding("some_leaf").title
        'some_leaf'
        """
        return self.leaf if self.tile is None else f"{self.leaf} by {self.tile.micro_kernel}"

    def with_axes(self, names: Mapping[str, str]) -> LeafBinding:
        """The same in other names of axes."""
        windows = (replace(window, output=names[window.output], tap=names[window.tap]) for window in self.windows)
        tile = self.tile and replace(self.tile, roles=self.tile.roles.with_axes(names))
        axes = tuple([(role, names[axis]) for role, axis in self.axes])
        return LeafBinding(self.leaf, axes, tuple(windows), self.numbers, self.element_type, tile)
