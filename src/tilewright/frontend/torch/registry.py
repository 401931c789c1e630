"""Lowerings by the names of ATen's overloads. A group of operators is one file of `operators/`, found by being there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from tilewright.errors import InternalError
from tilewright.graph.types import Tensor
from tilewright.package_files import modules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tilewright.frontend.torch.call import Call

Lowering: TypeAlias = "Callable[[Call], Tensor | tuple[Tensor | None, ...]]"
"""Records a call by its builder, and gives its results; None for one that it does not compute. Raises `UnsupportedOperation`."""

Declared = TypeVar("Declared", bound=Lowering)
_lowerings: dict[str, Lowering] = {}


def lowers(*overloads: str) -> Callable[[Declared], Declared]:
    """Declare a function as the lowering of overloads, named as torch prints them: "aten.add.Tensor"."""

    def declare(lowering: Declared) -> Declared:
        for overload in overloads:
            if overload in _lowerings:
                raise InternalError(f"{overload} has two lowerings")
            _lowerings[overload] = lowering
        return lowering

    return declare


@cache
def lowerings() -> Mapping[str, Lowering]:
    """All lowerings.

    >>> "aten.add.Tensor" in lowerings()
    True
    """
    modules("tilewright.frontend.torch.operators")
    return MappingProxyType(_lowerings)
