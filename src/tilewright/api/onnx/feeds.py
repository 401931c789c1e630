"""Feeds: the inputs of a session's call, checked against the declarations of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, FeedError, ShapeError
from tilewright.frontend.onnx.element_types import onnx_name
from tilewright.frontend.onnx.model import Declared
from tilewright.ort_errors import InvalidArgument, raised_as
from tilewright.runtime.arrays import as_array


class Feeds:
    """The check of what calls give a model."""

    def __init__(self, inputs: Sequence[Declared], optional: Sequence[Declared]) -> None:
        self._inputs, self._optional = tuple(inputs), tuple(optional)
        tensors = [(one, one.shape) for one in inputs if one.kind == "tensor" and one.shape is not None]
        self._plain = [(one, len(shape), [(d, e) for d, e in enumerate(shape) if isinstance(e, int)]) for one, shape in tensors]
        """Inputs that are tensors, with their rank and the dimensions that have one extent."""

    def __call__(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Values by unique name. Raises `FeedError` for what is no dictionary, and like `checked`."""
        if type(feeds) is not dict and not isinstance(feeds, Mapping):
            raise self._no_mapping(feeds)
        return self._at_once(feeds) or checked(feeds, self._inputs, self._optional)

    def _no_mapping(self, feeds: object) -> FeedError:
        names = [declared.name for declared in self._inputs]
        why, example = f"the model's inputs are {', '.join(names) or 'none'}", ", ".join(f"{name!r}: ..." for name in names)
        text = f"the inputs of a run are a dictionary of arrays by name, not of type {type(feeds).__name__}"
        return FeedError(text, where="run", why=why, hint=f"session.run(None, {{{example}}})")

    def _at_once(self, feeds: Mapping[str, Any]) -> dict[str, Any] | None:
        """The values where all are NumPy arrays that fit; None where anything needs more care."""
        if not len(feeds) == len(self._plain) == len(self._inputs):
            return None
        values = {}
        for declared, rank, fixed in self._plain:
            array = feeds.get(declared.name)
            if type(array) is not np.ndarray or array.dtype != declared.dtype or array.ndim != rank:
                return None
            shape = array.shape
            for dimension, extent in fixed:
                if shape[dimension] != extent:
                    return None
            values[declared.unique] = array
        return values


def checked(feeds: Mapping[str, Any], inputs: Sequence[Declared], optional: Sequence[Declared]) -> dict[str, Any]:
    """Values by unique name.

    Raises `FeedError` for missing and unknown inputs, `ShapeError` and `DTypeError` for those that do not fit.
    """
    known = {declared.name: declared for declared in (*inputs, *optional)}
    unknown = [name for name in feeds if name not in known]
    if unknown:
        why = f"its inputs are {', '.join(known) or 'none'}"
        raise raised_as(FeedError(f"the model has no input {unknown[0]!r}", where="run", why=why), InvalidArgument)
    missing = [declared.name for declared in inputs if declared.name not in feeds and declared.kind != "optional"]
    if missing:
        raise FeedError(f"the input {missing[0]!r} is missing", where="run", why=f"given are {', '.join(feeds) or 'none'}")
    values = {known[name].unique: _value(known[name], value) for name, value in feeds.items()}
    return {**{declared.unique: None for declared in inputs if declared.unique not in values}, **values}


def _value(declared: Declared, value: Any) -> Any:
    from tilewright.api.onnx.ort_value import OrtValue  # not where all inputs are plain arrays

    if isinstance(value, OrtValue):
        value = value.numpy()
    if declared.kind == "sequence" or (isinstance(value, list) and declared.kind != "tensor"):
        return [np.asarray(item) for item in value]
    if value is None and declared.kind in ("optional", "unknown"):
        return None
    array = _array(declared, value)
    array = array.astype(object) if array.dtype.kind in "US" else array
    if declared.dtype is not None and declared.kind in ("tensor", "optional"):
        _check(declared, array)
    return array


def _array(declared: Declared, value: Any) -> Any:
    """As an array, in this machine's byte order; numbers and lists of them in the type that the model declares."""
    if isinstance(value, (list, tuple, int, float, bool, str)):
        try:
            return np.asarray(value, declared.dtype)
        except (TypeError, ValueError, OverflowError) as problem:
            refused = DTypeError(f"the input {declared.name!r} is no array of {declared.dtype}", where="run", why=str(problem))
            raise raised_as(refused, InvalidArgument) from problem
    try:
        array = np.asarray(value) if isinstance(value, np.generic) else as_array(value)
    except DTypeError as problem:
        problem.where = problem.where or f"input {declared.name!r}"
        raise raised_as(problem, InvalidArgument) from None
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _check(declared: Declared, array: Any) -> None:
    if array.dtype != declared.dtype and not (array.dtype.hasobject and declared.dtype is not None and declared.dtype.hasobject):
        problem = DTypeError(
            f"the input {declared.name!r} has type tensor({onnx_name(array.dtype)})",
            where="run",
            why=f"the model declares {declared.type}",
            hint=f"pass it as {declared.dtype}: x.astype({str(declared.dtype)!r})",
        )
        raise raised_as(problem, InvalidArgument)
    if declared.shape is None:
        return
    pairs = zip(declared.shape, array.shape, strict=False)
    if len(declared.shape) != array.ndim or any(isinstance(extent, int) and extent != actual for extent, actual in pairs):
        wanted = ", ".join(str(extent) if extent is not None else "?" for extent in declared.shape)
        text, why = f"the input {declared.name!r} has shape {array.shape}", f"the model declares ({wanted})"
        raise raised_as(ShapeError(text, where="run", why=why), InvalidArgument)
