"""How a call of the user's function becomes a flat list of arrays, and how flat results become what the function returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from tilewright.api import pytree
from tilewright.api.pytree import Structure
from tilewright.errors import DTypeError, TilewrightError
from tilewright.frontend.tracing import TensorSpec, trace
from tilewright.frontend.tracing_value import Traced
from tilewright.graph.types import Graph
from tilewright.runtime.arrays import as_array

ELEMENT_TYPES = ("float32",)
"""What compiled kernels compute in."""
STATIC_TYPES = (bool, str, bytes, Enum, type, type(None), np.dtype)
"""Arguments of these types are static without being named so."""


@dataclass(frozen=True, slots=True)
class FlatCall:
    """One call: the leaves as they were given, their names for messages, and the structure (static values included)."""

    leaves: tuple[Any, ...]
    names: tuple[str, ...]
    structure: Structure

    def arrays(self) -> tuple[np.ndarray[Any, Any], ...]:
        """The leaves as NumPy arrays that share memory with them; numbers become 0-d float32 arrays."""
        return tuple(_array(leaf, name) for leaf, name in zip(self.leaves, self.names, strict=True))

    def first_array(self) -> Any:
        """The first argument that is an array; results are given back in its kind. None if there is none."""
        return next((leaf for leaf in self.leaves if not _is_number(leaf)), None)


@dataclass(frozen=True, slots=True, eq=False)
class TracedCall:
    """The graph of a call, and what its outputs are put into."""

    graph: Graph
    call: Structure
    result: Structure


def flatten_call(
    signature: inspect.Signature, static_names: Sequence[str], args: Sequence[Any], options: Mapping[str, Any]
) -> FlatCall:
    """Bind arguments to parameters and take them apart. Raises `TypeError` where Python would.

    Python and NumPy numbers are traced as 0-d float32 arrays, so that other values need no new kernel. Booleans, strings,
    enums, None and what `static_names` lists are static: a kernel is made for every value of them. Defaults that are
    not overridden stay what they are.
    """
    bound = signature.bind(*args, **options)
    for name in static_names:
        if name in bound.arguments:
            bound.arguments[name] = _Fixed(bound.arguments[name])
    keywords = {key: _Fixed(v) if key in static_names and not isinstance(v, _Fixed) else v for key, v in bound.kwargs.items()}
    titles = _titles(signature, len(bound.args))
    parts = [pytree.flatten(value, is_array, title) for title, value in zip(titles, bound.args, strict=True)]
    named = [pytree.flatten(value, is_array, key) for key, value in keywords.items()]
    flats = [*parts, *named]
    _check_statics(list(zip([*titles, *keywords], flats, strict=True)))
    arguments = pytree.Node(tuple, tuple(range(len(parts))), tuple(flat.structure for flat in parts))
    keyword_arguments = pytree.Node(dict, tuple(keywords), tuple(flat.structure for flat in named))
    return FlatCall(
        tuple(leaf for flat in flats for leaf in flat.leaves),
        tuple(path for flat in flats for path in flat.paths),
        pytree.Node(tuple, (0, 1), (arguments, keyword_arguments)),
    )


class _Fixed:
    """Marks a static argument while the call is taken apart."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fixed) and type(self.value) is type(other.value) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)


def _titles(signature: inspect.Signature, count: int) -> list[str]:
    """The name of each positional argument: of its parameter, or `args[i]`."""
    parameters = signature.parameters.values()
    names = [p.name for p in parameters if p.kind.name.startswith("POSITIONAL")][:count]
    variadic = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "")
    return [*names, *(f"{variadic}[{position}]" for position in range(count - len(names)))]


def trace_call(function: Callable[..., Any], call: FlatCall, specs: Sequence[TensorSpec], *, compiled: bool) -> TracedCall:
    """Run the function once on stand-ins. Returned values that are no arrays are part of the result's structure."""
    results: list[Structure] = []

    def flat(*leaves: Any) -> tuple[Any, ...]:
        positional, keywords = pytree.unflatten(call.structure, leaves)
        plain = {key: _released(value) for key, value in keywords.items()}
        returned = pytree.flatten(function(*map(_released, positional), **plain), _is_result)
        results.append(returned.structure)
        return returned.leaves

    name = getattr(function, "__name__", "function")
    graph = trace(flat, specs, name=name, element_types=ELEMENT_TYPES if compiled else None)
    return TracedCall(graph, call.structure, results[0])


def specs_of(call: FlatCall) -> tuple[TensorSpec, ...]:
    """What each leaf is to the tracer; leaves may be specs themselves."""
    specs = []
    for leaf, name in zip(call.leaves, call.names, strict=True):
        if isinstance(leaf, TensorSpec):
            specs.append(TensorSpec(leaf.shape, leaf.dtype, name))
        else:
            array = _array(leaf, name)
            specs.append(TensorSpec(array.shape, array.dtype.name, name))
    return tuple(specs)


def check_dtypes(specs: Sequence[TensorSpec]) -> None:
    """Refuse arguments that kernels cannot take, by name."""
    for spec in specs:
        if spec.dtype not in ELEMENT_TYPES:
            raise DTypeError(
                f"argument {spec.name!r} has dtype {spec.dtype}",
                why=f"compiled kernels take {', '.join(ELEMENT_TYPES)}",
                hint=f"convert it: {spec.name}.astype(numpy.float32); or pass interpret=True to run the NumPy meaning",
            )


def is_array(value: Any) -> bool:
    """Whether a value is a leaf: an array of any kind, a number, a spec, or a traced value."""
    if isinstance(value, STATIC_TYPES) and not isinstance(value, np.generic):
        return False
    if isinstance(value, np.ndarray | Traced | TensorSpec) or _is_number(value):
        return True
    if isinstance(value, memoryview | bytearray) or hasattr(value, "__dlpack__") or hasattr(value, "__array__"):
        return True
    return not isinstance(value, tuple | list | dict) and hasattr(type(value), "typecode")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.generic) and not isinstance(value, bool)


def _is_result(value: Any) -> bool:
    return isinstance(value, Traced | np.ndarray)


def _released(value: Any) -> Any:
    return value.value if isinstance(value, _Fixed) else value


def _array(leaf: Any, name: str) -> np.ndarray[Any, Any]:
    if _is_number(leaf):
        return np.asarray(leaf, np.float32)
    try:
        return as_array(leaf)
    except TilewrightError as error:
        error.where = error.where or f"argument {name!r}"
        raise


def _check_statics(parts: Sequence[tuple[str, pytree.Flat]]) -> None:
    for name, flat in parts:
        for value in pytree.statics(flat.structure):
            inner = _released(value)
            if not isinstance(value, _Fixed) and not isinstance(inner, STATIC_TYPES):
                raise DTypeError(
                    f"argument {name!r} holds a {type(inner).__name__}, which is no array",
                    hint=f"convert it to a NumPy array, or make it static: tw.jit(static_argnames=({name!r},))",
                )
            try:
                hash(value)
            except TypeError as problem:
                hint = "use a tuple in place of a list, and a frozen dataclass in place of a dict"
                raise DTypeError(f"the static argument {name!r} is not hashable", why=str(problem), hint=hint) from problem
