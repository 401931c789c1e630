"""onnxruntime's exceptions, which its users catch, as classes of ours.

A model that is no valid one raises `InvalidGraph`, `InvalidProtobuf` or `NoSuchFile`, which are `InvalidModel`s. What onnxruntime
calls `Fail` or `InvalidArgument` has many causes here: an error that is one is of both classes (`raised_as`), so that whoever
catches `ShapeError` and whoever catches `InvalidArgument` gets it. Where onnxruntime raises Python's own exceptions, those here
are of them, too.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import Any, TypeVar

from tilewright.errors import FeedError, InvalidModel, PositionError, TilewrightError, UnsupportedOperation

__all__ = ["DeviceReset", "EPFail", "EngineError", "Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf"]
__all__ += ["ModelLoadCanceled", "ModelLoaded", "ModelRequiresCompilation", "NoModel", "NoSuchFile", "NotFound"]
__all__ += ["NotImplementedHere", "RuntimeException"]
"""What users import from STATE."""
STATE = "tilewright.onnx.capi.onnxruntime_pybind11_state"
"""The module whose names these are, as in onnxruntime."""
ErrorT = TypeVar("ErrorT", bound=TilewrightError)


class Fail(TilewrightError):
    """A model that cannot be loaded, or a call that cannot be finished."""


class InvalidArgument(TilewrightError):
    """An argument of a call that does not fit the model."""


class InvalidGraph(InvalidModel):
    """A node that is not what its operator declares."""


class InvalidProtobuf(InvalidModel):
    """A file or bytes that are no model."""


class NoSuchFile(InvalidModel):
    """A model file that does not exist."""


class NotImplementedHere(UnsupportedOperation):
    """An operator, or an option, that has a meaning but no implementation: NotImplemented in onnxruntime."""


NotImplementedHere.__name__ = NotImplementedHere.__qualname__ = "NotImplemented"


class RuntimeException(TilewrightError):
    """Never raised: `Fail` is."""


class NoModel(TilewrightError):
    """Never raised: a session has its model."""


class ModelLoaded(TilewrightError):
    """Never raised: a session loads its model once."""


class ModelLoadCanceled(TilewrightError):
    """Never raised: nothing cancels."""


class ModelRequiresCompilation(TilewrightError):
    """Never raised: every model is compiled."""


class NotFound(TilewrightError):
    """Never raised."""


class EngineError(TilewrightError):
    """Never raised: there is one provider."""


class EPFail(TilewrightError):
    """Never raised: there is one provider."""


class DeviceReset(TilewrightError):
    """Never raised: there is one device."""


class ArgumentTypeError(TilewrightError, TypeError):
    """An argument or an option of a wrong type."""


class UnknownOption(TilewrightError, AttributeError):
    """An option that there is not."""


class RefusedByBinding(TilewrightError, RuntimeError):
    """What a binding, a value or a table of entries refuses: a RuntimeError in onnxruntime."""


class MissingModule(TilewrightError, ImportError):
    """A module of onnxruntime that is not here."""


KINDS: tuple[type[TilewrightError], ...] = tuple(globals()[name] for name in __all__)
"""The exceptions of onnxruntime."""
for _kind in KINDS:
    _kind.__module__ = STATE


def raised_as(problem: ErrorT, kind: type[TilewrightError]) -> ErrorT:
    """The same error, which is of another class as well.

    >>> from tilewright.errors import ShapeError
    >>> problem = raised_as(ShapeError("2 != 3", hint="use 3"), InvalidArgument)
    >>> isinstance(problem, ShapeError), isinstance(problem, InvalidArgument), type(problem).__name__, problem.hint
    (True, True, 'InvalidArgument', 'use 3')
    """
    if not isinstance(problem, kind):
        problem.__class__ = _both((kind, type(problem)))
    return problem


def of_loading(problem: Exception) -> None:
    """Let an error of loading a model be what onnxruntime calls it."""
    if isinstance(problem, InvalidModel) and not isinstance(problem, KINDS):
        raised_as(problem, Fail)
    elif isinstance(problem, UnsupportedOperation) and not isinstance(problem, KINDS):
        raised_as(problem, NotImplementedHere)


def of_run(problem: Exception) -> None:
    """Let an error of a run be what onnxruntime calls it; inputs that are missing are a ValueError there, and stay one."""
    if isinstance(problem, PositionError):
        raised_as(problem, InvalidArgument)
    elif isinstance(problem, TilewrightError) and not isinstance(problem, (FeedError, *KINDS)):
        raised_as(problem, Fail)


@cache
def _both(classes: tuple[Any, Any]) -> Any:
    kind, own = classes
    shown = kind if kind in KINDS else own
    parts = (kind, *getattr(own, "parts", (own,)))
    content = {"__module__": shown.__module__, "__doc__": shown.__doc__, "__reduce__": _reduced, "parts": parts}
    return type(shown.__name__, (kind, own), content)


def _reduced(problem: Any) -> Any:
    """How an error of several classes is pickled: they have no name together."""
    return _restored, (problem.parts, problem.args, dict(vars(problem)))


def _restored(parts: tuple[type[TilewrightError], ...], arguments: tuple[Any, ...], state: dict[str, Any]) -> TilewrightError:
    *kinds, own = parts
    problem = reduce(raised_as, reversed(kinds), own(*arguments))
    vars(problem).update(state)
    return problem
