"""The types of the graph: axes, accesses, operators, tensors, graphs and chains. They say what to compute, never how."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import Enum
from functools import lru_cache
from operator import is_

import numpy as np

from tilewright.graph import constant_values
from tilewright.graph.constant_values import Magnitudes
from tilewright.graph.expressions.extents import Extent as Extent
from tilewright.graph.expressions.extents import SymbolicExtent as SymbolicExtent
from tilewright.graph.expressions.extents import largest_extent as largest_extent
from tilewright.graph.expressions.extents import planned_extent as planned_extent
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Apply, AxisValue, Load, Point, Scalar, State, apply, subexpressions
from tilewright.records import record, replace


class AxisKind(Enum):
    """Whether the points along an axis are independent or are combined into one."""

    PARALLEL = "parallel"
    REDUCTION = "reduction"


@record
class Axis:
    """One dimension of an operator's index space. Inside a chain, equal names are the same axis."""

    name: str
    extent: Extent
    kind: AxisKind = AxisKind.PARALLEL


@record
class Guard:
    """The points at which an access is real: where every constraint is >= 0. Elsewhere its value is `otherwise`.

    Padding, causal masks and length masks are guards; by its guard a block is empty, full or partial.
    """

    constraints: tuple[Index, ...]
    otherwise: float

    def axes(self) -> frozenset[str]:
        """The axes that decide where the access is real."""
        return frozenset().union(*(constraint.axes() for constraint in self.constraints))


@record
class Access:
    """The element of `tensor` that belongs to a point: one quasi-affine expression of the axes per dimension."""

    tensor: str
    indices: tuple[Index, ...]
    guard: Guard | None = None
    lookups: tuple[tuple[int, int], ...] = ()
    """(dimension, number of a read of integers of the same operator): its element at this point is added to the index.

    Negative elements count from the end of the dimension. A sum outside of the dimension (0..extent - 1), at a point where the
    access is real, is an error of the call.
    """
    _axes: frozenset[str] = field(init=False, repr=False, compare=False)
    _is_affine: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        is_affine = self.guard is None and not self.lookups and all(map(Index.is_affine, self.indices))
        object.__setattr__(self, "_axes", frozenset().union(*map(Index.axes, self.indices)))
        object.__setattr__(self, "_is_affine", is_affine)

    def axes(self) -> frozenset[str]:
        """The names of the axes that it depends on."""
        return self._axes

    def innermost(self) -> str | None:
        """The axis along which neighbours lie side by side, in the last dimension that is not at a constant; None without one."""
        for index in reversed(self.indices):
            if index.terms:
                return next((atom for atom, coefficient in index.terms if isinstance(atom, str) and coefficient == 1), None)
        return None

    def mapped(self, change: Callable[[Index], Index], tensor: str = "") -> Access:
        """The access, of another tensor where one is named, with every index changed, those of its guard included."""
        guard = self.guard and Guard(tuple(map(change, self.guard.constraints)), self.guard.otherwise)
        indices, tensor = tuple(map(change, self.indices)), tensor or self.tensor
        is_same = guard is None and tensor == self.tensor and all(map(is_, indices, self.indices))
        return self if is_same else Access(tensor, indices, guard, self.lookups)

    def of(self, tensor: str) -> Access:
        """The same access to another tensor."""
        return self if tensor == self.tensor else Access(tensor, self.indices, self.guard, self.lookups)

    def is_affine(self) -> bool:
        """Whether it is unguarded and free of divisions and lookups: base plus strides times axes."""
        return self._is_affine


@record
class StateVariable:
    """One carried value of a reduction: starts at `identity`, takes in `contribution` through `combine` at every point.

    A contribution may refer to `Point()` and to the states declared before it: once these are final (whole-row schedule),
    or with their running values, provided that a `Rescale` says how to correct it (online schedule).
    """

    name: str
    identity: float
    contribution: Scalar
    combine: str
    """An associative function: add, maximum, minimum or multiply."""


@record
class Rescale:
    """When states change, `target` (a later state, or "result" for finished values and sums of them) is multiplied by `factor`.

    The factor speaks of `State` (new) and `Previous` (old). Online softmax (Milakov and Gimelshein 2018, algorithm 3) is
    `Rescale("row_sum", exp(old maximum - new maximum))`; partial results are combined by the same rule.
    """

    target: str
    factor: Scalar


@record
class Reduction:
    """How the points along the reduction axes combine, and what is written when they have.

    `finish` may refer to every state and, if the operator writes one value per point (softmax), to `Point()`.
    """

    states: tuple[StateVariable, ...]
    finish: Scalar
    rescales: tuple[Rescale, ...] = ()

    def mapped(self, change: Callable[[Scalar], Scalar]) -> Reduction:
        """The reduction with its contributions and its finish changed; rescaling factors speak of states alone and stay."""
        contributions, finish = [change(state.contribution) for state in self.states], change(self.finish)
        if finish is self.finish and all(
            new is state.contribution for new, state in zip(contributions, self.states, strict=True)
        ):
            return self
        states = [replace(state, contribution=new) for new, state in zip(contributions, self.states, strict=True)]
        return Reduction(tuple(states), finish, self.rescales)


SUM = Reduction((StateVariable("sum", 0.0, Point(), "add"),), State("sum"))
"""The plain sum: what a contraction carries."""
WEIGHTED_SUM = Reduction((StateVariable("sum", 0.0, apply("multiply", Point(), Load(1)), "add"),), State("sum"))
"""Of what the first read gives at a point, with weights that the second one gives."""
NORMS = ("layer_norm", "rms_norm")
"""The kinds of operators that are norms of rows."""
PRODUCT = apply("multiply", Load(0), Load(1))
"""What a contraction sums."""


@record
class Operator:
    """For every point of the axes: `body` of the reads, reduced along the reduction axes, into the written tensor.

    Without a reduction all axes are parallel and `write` covers them (an elementwise map, a copy, an index change).
    """

    name: str
    kind: str
    """The builder in graph/builders that made it (for messages and printing only: planning reads the maps)."""
    axes: tuple[Axis, ...]
    reads: tuple[Access, ...]
    write: Access
    body: Scalar
    reduction: Reduction | None = None
    accumulator: str = "float32"
    axis_names: frozenset[str] = field(init=False, repr=False, compare=False)
    """The names of its axes."""
    _reduction_axes: tuple[Axis, ...] = field(init=False, repr=False, compare=False)
    _is_product_sum: bool = field(init=False, repr=False, compare=False)
    _is_contraction: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        is_product_sum = len(self.reads) == 2 and self.reduction == SUM and self.body == PRODUCT
        object.__setattr__(self, "axis_names", frozenset([axis.name for axis in self.axes]))
        object.__setattr__(self, "_reduction_axes", tuple([axis for axis in self.axes if axis.kind is AxisKind.REDUCTION]))
        object.__setattr__(self, "_is_product_sum", is_product_sum)
        object.__setattr__(self, "_is_contraction", is_product_sum and all(map(Access.is_affine, self.accesses())))

    def accesses(self) -> tuple[Access, ...]:
        """All reads, then the write."""
        return *self.reads, self.write

    def with_accesses(self, change: Callable[[Access], Access]) -> Operator:
        """The same operator, itself where none changes, with other reads, and another write."""
        reads, write = tuple(map(change, self.reads)), change(self.write)
        is_same = write is self.write and all(map(is_, reads, self.reads))
        return self if is_same else replace(self, reads=reads, write=write)

    def with_reads(self, change: Callable[[Access], Access]) -> Operator:
        """The same operator, itself where no read changes, with other reads."""
        reads = tuple(map(change, self.reads))
        return self if all(map(is_, reads, self.reads)) else replace(self, reads=reads)

    def with_scalars(self, change: Callable[[Scalar], Scalar]) -> Operator:
        """The same operator, itself where none changes, with another body, other contributions, and another finish."""
        body, reduction = change(self.body), self.reduction and self.reduction.mapped(change)
        return self if body is self.body and reduction is self.reduction else replace(self, body=body, reduction=reduction)

    def with_indices(self, change: Callable[[Index], Index]) -> Operator:
        """The same operator, with every index of its accesses and their guards changed."""
        return self.with_accesses(lambda access: access.mapped(change))

    def axis(self, name: str) -> Axis:
        """The axis of that name."""
        for axis in self.axes:
            if axis.name == name:
                return axis
        raise KeyError(name)

    def computed_axes(self) -> frozenset[str]:
        """The axes along which positions are numbers that it computes with."""
        return frozenset(node.axis for node in self.scalars() if isinstance(node, AxisValue))

    def reduction_axes(self) -> tuple[Axis, ...]:
        """The axes that are combined."""
        return self._reduction_axes

    def is_product_sum(self) -> bool:
        """Whether it is a sum of products of two reads: a convolution reads its image by a guard."""
        return self._is_product_sum

    def sums_products(self) -> bool:
        """Whether it is a sum of products, of whatever is read: of bytes less their zero points, too."""
        return self.reduction == SUM and isinstance(self.body, Apply) and self.body.function == "multiply"

    def is_contraction(self) -> bool:
        """Whether it is a sum of products of two affine reads: what a matrix micro kernel can compute."""
        return self._is_contraction

    def is_map(self) -> bool:
        """Whether it computes every written element from single elements, with no reduction."""
        return self.reduction is None

    def is_norm(self) -> bool:
        """Whether it writes every point, over what the points of its row deviate: no later rows change its results."""
        return self.kind in NORMS and self.reduction is not None

    def is_row_reduction(self) -> bool:
        """Whether it needs whole rows before it can finish: a reduction other than a contraction."""
        return self.reduction is not None and not self.is_contraction()

    def is_index_change(self) -> bool:
        """Whether it only moves elements (transpose, reshape, slice)."""
        return self.is_map() and self.body == Load(0) and len(self.reads) == 1

    def looked_up(self) -> frozenset[int]:
        """The numbers of the reads whose elements other reads add to their indices."""
        return frozenset(number for access in self.reads for _, number in access.lookups)

    def guard_extents(self) -> tuple[SymbolicExtent, ...]:
        """The extents known at run time that guards of its reads speak of."""
        guards = (access.guard for access in self.reads if access.guard is not None)
        return tuple(extent for guard in guards for constraint in guard.constraints for extent in constraint.extents())

    def scalars(self) -> tuple[Scalar, ...]:
        """Everything that is computed at every point, its parts included, with repetition."""
        roots: tuple[Scalar, ...] = (self.body,)
        if self.reduction is not None:
            roots += (*(state.contribution for state in self.reduction.states), self.reduction.finish)
        return tuple(node for root in roots for node in subexpressions(root))

    def functions(self) -> tuple[str, ...]:
        """The scalar functions applied at every point, with repetition."""
        return tuple(node.function for node in self.scalars() if isinstance(node, Apply))


@lru_cache(maxsize=64)
def element_bytes(dtype: str) -> int:
    """The bytes of an element in memory, of a type by its NumPy name: whole bytes, at least one.

    >>> [element_bytes(dtype) for dtype in ("bool", "uint8", "bfloat16", "float32", "int64", "float8_e4m3fn", "int4")]
    [1, 1, 2, 4, 8, 1, 1]
    """
    bits = re.search("[0-9]+", dtype)
    return -(-int(bits.group()) // 8) if bits else 1


@record
class Tensor:
    """A named array: `shape` in elements, `dtype` by NumPy name."""

    name: str
    shape: tuple[Extent, ...]
    dtype: str = "float32"
    magnitudes: Magnitudes | None = None
    """How large elements are at most, of a constant of short integers; None where nothing beyond the type is known."""
    entries: tuple[float, ...] | None = None
    """The elements in row-major order, of a small constant whose values generated code may hold; None of all others."""
    needs_exact: bool = False
    """Whether a discontinuous function reads it: only exact rewrites may change how it is computed (`graph/licences.py`)."""
    is_extreme: bool = False
    """Whether a constant has elements so large or small that products with other constants may leave the range of its type, or
    infinities or NaN."""

    def __repr__(self) -> str:
        known = f", magnitudes={self.magnitudes!r}" if self.magnitudes is not None else ""
        known += f", entries={self.entries!r}" if self.entries is not None else ""
        known += ", needs_exact=True" if self.needs_exact else ""
        known += ", is_extreme=True" if self.is_extreme else ""
        return f"Tensor(name={self.name!r}, shape={self.shape!r}, dtype={self.dtype!r}{known})"

    @property
    def element_bytes(self) -> int:
        """The bytes of an element."""
        return element_bytes(self.dtype)

    def renamed(self, name: str) -> Tensor:
        """The same under another name."""
        return Tensor(name, self.shape, self.dtype, self.magnitudes, self.entries, self.needs_exact, self.is_extreme)

    def known_values(self) -> np.ndarray:
        """`entries` as an array of the tensor's shape."""
        assert self.entries is not None, f"the values of {self.name} are not known"
        return np.array(self.entries).reshape(tuple(extent for extent in self.shape if isinstance(extent, int)))


@record(eq=False)
class Constant:
    """The value of a tensor that does not change between calls. Equal contents are equal constants.

    Passes and planning look at the values only where `constant_values.decide` says so: what is generated does not depend on
    others, and `repr` does not tell them.
    """

    array: np.ndarray
    has_values: bool = True
    """False where the array only has the shape and the type: such a constant equals itself alone."""

    @property
    def decides(self) -> bool:
        """Whether planning and generated code may depend on the values: they are known, and few or a mask."""
        return self.has_values and constant_values.decide(self.array)

    @property
    def digest(self) -> str:
        """SHA-256 of type, shape and values."""
        data = np.ascontiguousarray(self.array)
        digest = hashlib.sha256(f"{data.dtype.str}{data.shape}".encode())
        digest.update(data.reshape(-1).view(np.uint8).data)
        return digest.hexdigest()

    def without_values(self) -> Constant:
        """The same for everybody but those who compute with the values: where these are many, it takes no memory."""
        if constant_values.decide(self.array):
            return self
        return Constant(np.broadcast_to(np.zeros((), self.array.dtype), self.array.shape), has_values=False)

    def reshaped(self, shape: tuple[int, ...]) -> Constant:
        """The same elements in another shape."""
        return Constant(self.array.reshape(shape), self.has_values)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Constant):
            return self is other
        return self.has_values and other.has_values and constant_values.same_values(self.array, other.array)

    def __hash__(self) -> int:
        return hash((self.array.dtype.str, self.array.shape, constant_values.sample(self.array).tobytes()))

    def __repr__(self) -> str:
        values = self.digest if self.decides else "any values"
        return f"Constant({self.array.dtype.str}, {self.array.shape}, {values})"


@record
class Graph:
    """Operators in topological order over named tensors. Constants are tensors with a value; they are not inputs."""

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: tuple[tuple[str, Constant], ...] = ()
    _by_name: dict[str, Tensor] = field(default_factory=dict, init=False, repr=False, compare=False)
    _constants: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _digest: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 of its text, in which constants have values where generated code may depend on these."""
        if not self._digest:
            self._digest.append(hashlib.sha256(repr(self).encode()).hexdigest())
        return self._digest[0]

    def constant_names(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of these names that are constants, in the order of the constants."""
        if self.constants and not self._constants:
            self._constants.update({name: number for number, (name, _) in enumerate(self.constants)})
        return tuple(sorted((name for name in names if name in self._constants), key=self._constants.__getitem__))

    @property
    def by_name(self) -> Mapping[str, Tensor]:
        """The tensors by name."""
        if not self._by_name:
            self._by_name.update({tensor.name: tensor for tensor in self.tensors})
        return self._by_name

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name."""
        return self.by_name[name]


@record(weakref_slot=True)
class Chain:
    """Operators in topological order with one sink, planned and fused as one; axes are named consistently across them."""

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    constants: tuple[str, ...] = ()
    """Inputs that do not change between calls."""
    extents: Mapping[str, Extent] = field(init=False, repr=False, compare=False)
    """The extent of every axis."""
    intermediates: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Tensors written by one operator and read by another, in order of production."""
    inputs: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Tensors read but not written here, in order of first use."""
    _tensors: Mapping[str, Tensor] = field(init=False, repr=False, compare=False)
    _by_name: Mapping[str, Operator] = field(init=False, repr=False, compare=False)
    _by_result: Mapping[str, Operator] = field(init=False, repr=False, compare=False)
    _by_operand: Mapping[str, tuple[Operator, ...]] = field(init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Equal for equal chains, by tensors and lengths alone: hashing every operator would take far longer."""
        return hash((self.tensors, len(self.operators), self.constants))

    def __post_init__(self) -> None:
        readers: dict[str, tuple[Operator, ...]] = {}
        for operator in self.operators:
            for tensor in dict.fromkeys(access.tensor for access in operator.reads):
                readers[tensor] = (*readers.get(tensor, ()), operator)
        extents = {axis.name: axis.extent for operator in self.operators for axis in operator.axes}
        results = {operator.write.tensor: operator for operator in self.operators}
        object.__setattr__(self, "extents", extents)
        object.__setattr__(self, "intermediates", tuple(operator.write.tensor for operator in self.operators[:-1]))
        object.__setattr__(self, "inputs", tuple(tensor for tensor in readers if tensor not in results))
        object.__setattr__(self, "_tensors", {tensor.name: tensor for tensor in self.tensors})
        object.__setattr__(self, "_by_name", {operator.name: operator for operator in self.operators})
        object.__setattr__(self, "_by_result", results)
        object.__setattr__(self, "_by_operand", readers)

    @property
    def output(self) -> str:
        """The tensor that the sink writes."""
        return self.operators[-1].write.tensor

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name."""
        return self._tensors[name]

    def operator(self, name: str) -> Operator:
        """The operator of that name."""
        return self._by_name[name]

    def producer(self, tensor: str) -> Operator | None:
        """The operator that writes a tensor, None for an input."""
        return self._by_result.get(tensor)

    def maker(self, tensor: str) -> Operator:
        """The operator that writes a tensor which is no input."""
        return self._by_result[tensor]

    def consumers(self, tensor: str) -> tuple[Operator, ...]:
        """The operators that read a tensor."""
        return self._by_operand.get(tensor, ())

    @property
    def shared_axes(self) -> tuple[str, ...]:
        """Axes that every operator has, in order of first appearance."""
        first, *rest = self.operators
        return tuple(a.name for a in first.axes if all(any(b.name == a.name for b in op.axes) for op in rest))
