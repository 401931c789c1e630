"""Calling conventions: the arguments of a call as a flat list of arrays, and flat results in the structure of the result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tilewright.api.calls import pytree
from tilewright.api.calls.pytree import Structure
from tilewright.errors import DTypeError, TilewrightError, UnsupportedOperation
from tilewright.frontend.tracing.element_types import check_known
from tilewright.frontend.tracing.recorder import INTEGERS
from tilewright.frontend.tracing.trace import TensorSpec, record_into, trace
from tilewright.frontend.tracing.traced import Traced
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph, Tensor
from tilewright.records import record
from tilewright.runtime.arrays import as_array, is_on_device, is_torch_tensor, outline

STATIC_TYPES = (bool, str, Enum, type, type(None), np.dtype)
"""Arguments of these types are static without being named so; results may hold them beside arrays."""
NUMBERS = (int, float, np.generic)
"""Types of leaves that are no arrays yet; tuples, since a union would be built anew by every call."""

Array = np.ndarray[Any, np.dtype[Any]]


class FlatCall(NamedTuple):
    """One call: the leaves as they were given, the structure (static values included), and the form of the call."""

    leaves: tuple[Any, ...]
    structure: pytree.Node
    form: Form

    @property
    def names(self) -> tuple[str, ...]:
        """How messages call each leaf."""
        return tuple(path for title, child in self._arguments() for path in pytree.paths(child, title))

    def arrays(self) -> tuple[Array, ...]:
        """The leaves as NumPy arrays that share memory with them; numbers become 0-d: float64 beside such arrays, or float32."""
        return tuple([leaf if type(leaf) is np.ndarray else self._array(i, leaf) for i, leaf in enumerate(self.leaves)])

    def given(self) -> tuple[Any, ...]:
        """The same for kernels that take tensors of a device, which stay as they are."""
        pairs = enumerate(self.leaves)
        return tuple([leaf if is_on_device(leaf) else self._array(number, leaf) for number, leaf in pairs])

    def outlines(self) -> tuple[Array, ...]:
        """The shapes and element types of the leaves, as arrays: those of tensors of a device have no elements."""
        return tuple([self._outline(number, leaf) for number, leaf in enumerate(self.leaves)])

    def first_array(self) -> Any:
        """The first argument that is an array; results are given back in its kind. None if there is none."""
        return next((leaf for leaf in self.leaves if not _is_number(leaf)), None)

    def specs(self) -> tuple[TensorSpec, ...]:
        """What each leaf is to the tracer; leaves may be specs themselves."""
        pairs = enumerate(zip(self.leaves, self.names, strict=True))
        return tuple(
            replace(leaf, name=name)
            if isinstance(leaf, TensorSpec)
            else spec_of(self._outline(number, leaf), name, is_number=_is_number(leaf))
            for number, (leaf, name) in pairs
        )

    def check_statics(self) -> None:
        """Raise `DTypeError` for what is neither an array nor static, `TilewrightError` for what is not hashable."""
        for (title, child), is_static in zip(self._arguments(), self.form.is_static, strict=True):
            for value in pytree.statics(child):
                if not is_static and not isinstance(value, STATIC_TYPES):
                    raise DTypeError(
                        f"argument {title!r} holds a {type(value).__name__}, which is no array",
                        hint=f"convert it to a NumPy array, or make it static: tw.jit(static_argnames=({title!r},))",
                    )
                _check_hashable(title, value)

    def _arguments(self) -> Iterator[tuple[str, Structure]]:
        return zip(self.form.titles, self.structure.children, strict=True)

    def _outline(self, number: int, leaf: Any) -> Array:
        return outline(leaf) if is_on_device(leaf) else self._array(number, leaf)

    def _array(self, number: int, leaf: Any) -> Array:
        if _is_number(leaf):
            return np.asarray(leaf, np.float64 if any(map(_is_double, self.leaves)) else np.float32)
        try:
            return as_array(leaf)
        except TilewrightError as error:
            error.where = error.where or f"argument {self.names[number]!r}"
            raise


@record
class Form:
    """What calls with as many positional arguments and the same keywords have in common. All tuples run over the arguments."""

    sources: tuple[int | str, ...]
    """The position or the keyword under which the caller gives an argument."""
    keys: tuple[int | str, ...]
    """The position or the keyword under which the function takes it."""
    titles: tuple[str, ...]
    """How messages call it: by its parameter, or `args[i]`."""
    is_static: tuple[bool, ...]


class Binder:
    """Binds arguments to parameters: as `inspect.Signature.bind` does, once for every form of call."""

    def __init__(self, signature: inspect.Signature, static_names: Sequence[str]) -> None:
        self.signature = signature
        self.static_names = static_names
        self._forms: dict[tuple[int, tuple[str, ...]], Form] = {}

    def flatten(self, args: Sequence[Any], options: Mapping[str, Any]) -> FlatCall:
        """Take the arguments apart. Raises `TypeError` where Python would.

        Python and NumPy numbers are traced as 0-d arrays, so that other values need no new kernel. Booleans, strings,
        enums, None and what the static names list are static: a kernel is made for every value of them. Defaults that are
        not overridden stay what they are.
        """
        form = self._forms.get((len(args), tuple(options))) or self._form(len(args), tuple(options))
        leaves: list[Any] = []
        children: list[Structure] = []
        for source, is_static in zip(form.sources, form.is_static, strict=True):
            value = options[source] if isinstance(source, str) else args[source]
            children.append(pytree.static(value) if is_static else pytree.structure_of(value, is_array, leaves))
        return FlatCall(tuple(leaves), pytree.Node(tuple, form.keys, tuple(children)), form)

    def _form(self, count: int, names: tuple[str, ...]) -> Form:
        bound = self.signature.bind(*range(count), **{name: name for name in names})
        titles = (*_titles(self.signature, len(bound.args)), *bound.kwargs)
        is_static = tuple(title.partition("[")[0] in self.static_names for title in titles)
        sources = (*bound.args, *bound.kwargs.values())
        form = Form(sources, (*range(len(bound.args)), *bound.kwargs), titles, is_static)
        return self._forms.setdefault((count, names), form)


@record(eq=False)
class TracedCall:
    """The graph of a call, and what its outputs are put into."""

    graph: Graph
    call: pytree.Node
    result: Structure


@record(eq=False)
class Called:
    """How a kernel is called: as the function of this name, whose arguments and results have these structures."""

    name: str
    binder: Binder
    call: pytree.Node
    result: Structure


def trace_call(
    function: Callable[..., Any], call: FlatCall, specs: Sequence[TensorSpec], element_types: tuple[str, ...] | None = None
) -> TracedCall:
    """Run the function once on stand-ins. Returned values that are no arrays are part of the result's structure.

    `element_types` are those that it may compute in; None: in any, as the interpreter does.
    """
    results: list[Structure] = []
    name = getattr(function, "__name__", "function")
    graph = trace(_flat(function, call, results), specs, name=name, element_types=element_types)
    return TracedCall(graph, call.structure, results[0])


def record_call(
    function: Callable[..., Any], call: FlatCall, builder: Builder, tensors: Sequence[tuple[TensorSpec, Tensor]]
) -> tuple[Tensor, ...]:
    """Run the function once on tensors of a graph under construction, which gets its operators; the tensors of the result.

    The leaves of the call are the very specs that stand for these tensors, in any order, and numbers, which become constants.
    """
    known = {id(spec): tensor for spec, tensor in tensors}
    operands = [
        (known[id(leaf)], False) if isinstance(leaf, TensorSpec) else (builder.literal(np.asarray(leaf, spec.dtype)), True)
        for leaf, spec in zip(call.leaves, call.specs(), strict=True)
    ]
    return record_into(builder, _flat(function, call, []), operands)


def _flat(function: Callable[..., Any], call: FlatCall, results: list[Structure]) -> Callable[..., tuple[Any, ...]]:
    """The function of the leaves, which gives those of its result, and adds the structure of this to `results`."""
    keys = call.structure.keys

    def flat(*leaves: Any) -> tuple[Any, ...]:
        values = list(zip(keys, pytree.unflatten(call.structure, leaves), strict=True))
        positional = [value for key, value in values if isinstance(key, int)]
        keywords = {key: value for key, value in values if isinstance(key, str)}
        returned = pytree.flatten(function(*positional, **keywords), _is_result)
        _check_result(returned.structure)
        results.append(returned.structure)
        return returned.leaves

    return flat


def check_dtypes(specs: Sequence[TensorSpec], leaves: Sequence[Any], element_types: tuple[str, ...] | None) -> None:
    """Refuse arguments that kernels cannot take, by name: they compute in `element_types` (None: all), maps read all others."""
    for spec, leaf in zip(specs, leaves, strict=True):
        check_known(spec.dtype, f"argument {spec.name!r}")
        if element_types is not None and spec.dtype not in (*element_types, "bool", *INTEGERS):
            raise DTypeError(
                f"argument {spec.name!r} has dtype {spec.dtype}",
                why=f"compiled kernels take {', '.join(element_types)}, truth values and integers",
                hint=f"convert it: {_as_float32(spec.name, leaf)}; or pass interpret=True to interpret the function in NumPy",
            )


def _as_float32(name: str, leaf: Any) -> str:
    """The expression that converts an argument."""
    if is_torch_tensor(leaf):
        return f"{name}.float()"
    return f"{name}.astype(numpy.float32)" if hasattr(leaf, "astype") else f"numpy.asarray({name}, numpy.float32)"


def spec_of(array: Array, name: str, *, is_number: bool = False) -> TensorSpec:
    """What an array is to the tracer."""
    return TensorSpec(array.shape, array.dtype.name, name, is_number)


def is_array(value: Any) -> bool:
    """Whether a value is a leaf: an array of any kind, a number, a spec, or a traced value. Its type decides."""
    return _is_array_type(type(value))  # type: ignore[arg-type]  # every type is hashable


@lru_cache(maxsize=1024)
def _is_array_type(kind: type) -> bool:
    if issubclass(kind, STATIC_TYPES) and not issubclass(kind, np.generic):
        return False
    if issubclass(kind, (np.ndarray, Traced, TensorSpec, *NUMBERS, memoryview, bytes, bytearray)):
        return True
    if hasattr(kind, "__dlpack__") or hasattr(kind, "__array__"):
        return True
    return not issubclass(kind, (tuple, list, dict)) and hasattr(kind, "typecode")


def _is_number(value: Any) -> bool:
    return isinstance(value, NUMBERS) and not isinstance(value, bool)


def _is_double(leaf: Any) -> bool:
    """Whether it is an array of float64."""
    if _is_number(leaf):
        return False
    dtype = getattr(leaf, "dtype", None)
    return str(as_array(leaf).dtype if dtype is None else dtype).endswith("float64")


def _is_result(value: Any) -> bool:
    return isinstance(value, Traced | np.ndarray)


def _check_result(structure: Structure) -> None:
    for value in pytree.statics(structure):
        if not isinstance(value, STATIC_TYPES + NUMBERS):
            raise UnsupportedOperation(
                f"a traced function returned a {type(value).__name__}",
                why="results are arrays, numbers, strings, enums and None, in tuples, lists, dicts and dataclasses",
                hint="return one of these",
            )


def _check_hashable(title: str, value: Any) -> None:
    try:
        hash(value)
    except TypeError as problem:
        hint = "use a tuple in place of a list, and a frozen dataclass in place of a dict"
        raise TilewrightError(f"the static argument {title!r} is not hashable", why=str(problem), hint=hint) from problem


def _titles(signature: inspect.Signature, count: int) -> list[str]:
    """The name of each positional argument: of its parameter, or `args[i]`."""
    parameters = signature.parameters.values()
    names = [p.name for p in parameters if p.kind.name.startswith("POSITIONAL")][:count]
    variadic = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "")
    return [*names, *(f"{variadic}[{position}]" for position in range(count - len(names)))]
