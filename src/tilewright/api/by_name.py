"""Names by which jitted functions are pickled.

A module's name is bound to the jitted object, so that pickle does not find the function inside under its own name. A copy takes
its place, whose name is found: it is an attribute of the jitted object. Whoever pickles functions by name (pickle; cloudpickle
those of modules that can be imported) finds this copy again, and with it the jitted object. Whoever pickles them by value
(cloudpickle those of `__main__`) makes a new function, which is jitted again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import attrgetter
from types import FunctionType
from typing import Any

ATTRIBUTE = "_named"
"""Of jitted objects: the copy."""
FIRST_PROTOCOL = 4
"""Of pickle, that knows names with dots."""


def bound_to(name: str, module: str) -> object:
    """What a name with dots means in a module that is imported; None where it means nothing.

    >>> bound_to("FunctionType.__name__", __name__), bound_to("outer.<locals>.inner", __name__)
    ('function', None)
    """
    try:
        found: object = attrgetter(name)(sys.modules[module])
    except (AttributeError, KeyError):
        return None
    return found


def named(function: FunctionType) -> FunctionType:
    """A copy of a function, named as the attribute of what its own name is bound to."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = function.__annotations__
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}.{ATTRIBUTE}"
    vars(copy).update(vars(function))
    return copy


def owner(copy: Callable[..., Any]) -> object:
    """The object whose copy this is; None for every other function: it has its own name from here on."""
    name, _, attribute = getattr(copy, "__qualname__", "").rpartition(".")
    if attribute != ATTRIBUTE:
        return None
    found = bound_to(name, copy.__module__)
    if getattr(found, ATTRIBUTE, None) is copy:
        return found
    copy.__qualname__ = name
    return None
