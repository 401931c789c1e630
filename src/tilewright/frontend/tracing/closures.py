"""NumPy arrays that a function names, as constants of the graph: run-time extents may slice them.

NumPy asks for the value of an extent that slices one of its arrays, and there is none while a function is traced for all values.
Arrays that a function closes over are constants of its graph in any case; as traced ones they are sliced in the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from tilewright.frontend.tracing.recorder import current_recorder
from tilewright.frontend.tracing.traced import Traced


def with_traced_arrays(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function with traced constants in the place of arrays of its closure and its module; None where it names none.

    Assumption: it computes with them by operators and functions of traced arrays. Where it does not, tracing raises.

    >>> table = np.ones(4)
    >>> with_traced_arrays(lambda x: x + table) is None, with_traced_arrays(lambda x: x) is None
    (False, True)
    """
    if not isinstance(function, FunctionType):
        return None
    names = _names(function.__code__)
    of_module = {name: value for name, value in function.__globals__.items() if name in names and isinstance(value, np.ndarray)}
    closure = function.__closure__ or ()
    if not of_module and not any(isinstance(_contents(cell), np.ndarray) for cell in closure):
        return None

    def traced(*arguments: Any, **keywords: Any) -> Any:
        cells = tuple(CellType(_traced(_contents(cell))) if isinstance(_contents(cell), np.ndarray) else cell for cell in closure)
        globals_ = {**function.__globals__, **{name: _traced(value) for name, value in of_module.items()}}
        same = FunctionType(function.__code__, globals_, function.__name__, function.__defaults__, cells)
        same.__kwdefaults__ = function.__kwdefaults__ and dict(function.__kwdefaults__)
        return same(*arguments, **keywords)

    traced.__name__ = function.__name__
    return traced


def _names(code: CodeType) -> frozenset[str]:
    """The global names that a function and the functions inside it read."""
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return frozenset(code.co_names).union(*map(_names, inner))


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None


def _traced(array: Any) -> Traced:
    recorder = current_recorder()
    assert recorder is not None
    return Traced(recorder, recorder.constant(array))
