"""C text of what direct convolutions read: strides, the first window and the ends of an image; weights in vectors.

Weights are spread at every row, or before the first.
"""

from __future__ import annotations

from tilewright.block.integers import IntegerExpression, Variable, VariableKind
from tilewright.block.memory import View
from tilewright.block.statements import VectorLoops
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import local, to_c
from tilewright.c_text.statements import Lines
from tilewright.c_text.vector_statements import VectorStatements
from tilewright.graph.expressions.index import Index
from tilewright.kernels.element_access import suffix
from tilewright.leaves.row_streaming_form import RowStreaming
from tilewright.records import record

IMAGES = frozenset(("float32", "int8", "uint8"))
"""Element types of images: bytes become floats where they are loaded."""


def strides_of(loops: VectorLoops) -> dict[str, IntegerExpression]:
    """Elements of the image between neighbours along every axis."""
    image = loops.reads[0]
    if isinstance(image, View):
        return {axis: image.stride(axis) for axis, _ in loops.box}
    dims = list(zip(image.indices, image.dim_strides, strict=True))
    return {axis: sum(stride * index.coefficient(axis) for index, stride in dims) for axis, _ in loops.box}


def first_window(loops: VectorLoops) -> IntegerExpression:
    """The element of the image at the start of all ranges and at the first tap, were it inside of the image."""
    image = loops.reads[0]
    if isinstance(image, View):
        return image.offset
    strides = strides_of(loops)
    starts = (block.start * strides[axis] for axis, block in loops.box)
    constants = (index.constant * stride for index, stride in zip(image.indices, image.dim_strides, strict=True))
    return image.offset + sum(starts) + sum(constants)


def limit_value(limit: int | Index) -> IntegerExpression:
    """A limit of positions, of integers or of an extent known at run time."""
    if isinstance(limit, int):
        return limit
    return sum(Variable(VariableKind.EXTENT, extent.name) for extent in limit.extents()) + limit.constant


@record(kw_only=True)
class WeightsOfWindows(VectorStatements):
    """Statements of row streaming, with its weights."""

    form: RowStreaming
    paired: str
    """The axis along which two neighbours share vectors; "" if none do."""

    def around_strides(self) -> dict[str, IntegerExpression]:
        """The strides of the image along axes that are neither windows nor their taps."""
        return {axis: stride for axis, stride in strides_of(self.loops).items() if axis not in self.form.axes}

    def weight(self, row: int, column: int) -> str:
        """The vector of a weight, or of two: in the lanes that their columns have."""
        first = self.weight_of(row, column, 0)
        if not self.paired:
            return first
        both = "tw_halves" if self.form.columns.stride == 1 else "tw_even_columns"
        return f"{both}({first}, {self.weight_of(row, column, local('next'))})"

    def weight_of(self, row: int, column: int, ahead: IntegerExpression) -> str:
        """The vector of a weight, so many neighbours `ahead`."""
        view = self.loops.view(1)
        steps = [column * view.stride(self.form.columns.tap)]
        steps += [row * view.stride(self.form.rows.tap)] if self.form.rows is not None else []
        steps += [ahead * view.stride(self.paired)] if self.paired else []
        place = f"first_weight + {to_c(sum(steps))}" if self.points_at_weights else self.weights_place(*steps)
        return f"tw_splat(tw_read{suffix(view.dtype)}({place}))"

    def weights_place(self, *steps: IntegerExpression) -> str:
        """Where the weights of a window lie, so far ahead."""
        view = self.loops.view(1)
        around = self.shift((axis, view.stride(axis)) for axis in self.around_strides())
        return f"{names.buffer_name(view.buffer)} + {to_c(view.offset + around + sum(steps))}"

    @property
    def points_at_weights(self) -> bool:
        """Whether weights are read through a pointer that changes with every step, as far as the compiler knows.

        GCC 12 would else keep their scalars in registers, and spread them by shuffles, which wait for the unit of multiply-adds;
        a load spreads them for nothing.
        """
        return not self.keeps_weights and self.loops.view(1).dtype == "float32"

    def pointed_weights(self) -> Lines:
        """Declare `first_weight`."""
        return [f"const float *first_weight = {self.weights_place()};"] if self.points_at_weights else []

    @property
    def keeps_weights(self) -> bool:
        """Whether weights are made before the first row."""
        return self.form.keeps_weights or bool(self.paired)

    def kept_weights(self) -> Lines:
        """All weights, if they are few enough for registers, or put together of two."""
        if not self.keeps_weights:
            return []
        rows = self.form.rows.taps if self.form.rows is not None else 1
        places = ((row, column) for row in range(rows) for column in range(self.form.columns.taps))
        return [f"const tw_vec weight_{row}_{column} = {self.weight(row, column)};" for row, column in places]
