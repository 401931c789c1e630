"""Eager mode with other roundings: what is not exact moves by a few units in the last place, sums as if each term did.

And what torch leaves undefined, which no program has.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

UNITS = 4.0
"""Noise, in units in the last place."""
POSITIONS = frozenset(
    ("argmax", "argmin", "max", "min", "topk", "sort", "argsort", "median", "nanmedian", "kthvalue", "mode", "cummax", "cummin")
)
"""Operators that choose among equal numbers as they like: torch promises no position."""
DIVISIONS = frozenset(("div", "div_", "floor_divide", "floor_divide_", "fmod", "fmod_", "remainder", "remainder_"))
ROUNDED = ("mean", "var", "std", "norm", "softmax", "cumulative", "logsumexp", "lerp", "median")
"""Parts of names of operators that round on the way, even to results that float64 has, too."""
COMPOSED = (
    "mm",
    "mv",
    "dot",
    "conv",
    "sum",
    "prod",
    "linear",
    "attention",
    "pool",
    "scatter_",
    "index_add",
    "index_put",
    "addc",
    "loss",
)
"""Parts of names of operators that round on the way unless all operands have few digits."""
LARGEST = 1e4
"""Of operands of attention and convolutions."""
SIGNS = frozenset(("copysign", "signbit", "copysign_"))
PRODUCTS = frozenset(("mm", "bmm", "addmm", "baddbmm", "mv", "dot"))
LARGEST_FACTOR = 1e15
"""Of finite operands of products: a scale before a product, or behind it, overflows elsewhere."""
CONVERSIONS = frozenset(("_to_copy", "copy_"))
CANCELLING = frozenset(("gelu", "gelu_"))
"""x times one plus a number near -1: wrong by units of x, however small the result."""


class Undefined(Exception):
    """A call whose result C++ leaves open."""


class Checked(TorchDispatchMode):  # type: ignore[misc]
    """Raises `Undefined` for a call that is.

    Floats beyond the integers that they become; the least integer divided by -1; attention and convolutions of huge numbers and
    infinities, where ATen's own results depend on strides (contiguous operands and transposed ones give NaN elsewhere).
    """

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = _name(function)
        if name in DIVISIONS:
            _check_division(*args[:2])
        operands = [one for one in args if isinstance(one, torch.Tensor) and one.is_floating_point()]
        if "attention" in name or "conv" in name:
            _check_size(operands, LARGEST)
        if name in SIGNS and operands and bool(operands[-1].isnan().any()):
            raise Undefined("the sign of a NaN")
        if name in PRODUCTS:
            _check_size([one[one.isfinite()] for one in operands], LARGEST_FACTOR)
        result = function(*args, **(kwargs or {}))
        if name in CONVERSIONS:
            _check_conversion(args[1] if name == "copy_" else args[0], result)
        return result


def _name(function: Any) -> str:
    return str(function).split(".")[1]


def _check_conversion(x: torch.Tensor, result: torch.Tensor) -> None:
    if x.is_floating_point() and not result.is_floating_point() and result.dtype is not torch.bool:
        limits, wide = torch.iinfo(result.dtype), x.double()
        if not bool(((wide > limits.min - 1) & (wide < limits.max + 1)).all()):
            raise Undefined("a float beyond the integers")


def _check_size(operands: list[torch.Tensor], largest: float) -> None:
    if any(not bool((one.abs() <= largest).all()) for one in operands):
        raise Undefined("huge numbers")


def _check_division(x: Any, y: Any) -> None:
    numbers = [one for one in (x, y) if isinstance(one, torch.Tensor)]
    if any(one.is_floating_point() for one in numbers) or isinstance(y, float):
        return
    common = torch.result_type(x, y)
    if common is torch.bool or common.is_floating_point:
        return
    x, y = torch.as_tensor(x).to(common), torch.as_tensor(y).to(common)
    if bool((x == torch.iinfo(common).min).any() and (y == -1).any()) and common.is_signed:
        raise Undefined("the least integer divided by -1")


class Noisy(TorchDispatchMode):  # type: ignore[misc]
    """Calls whose results float64 says otherwise give results that are moved."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _name(function) in POSITIONS:
            return self._chosen(function, args, kwargs)
        if function.is_view or not _has_floats((args, kwargs)):
            return function(*args, **kwargs)
        if _name(function) in ("eq", "ne"):
            return self._compared(function, args)
        exact = _in_doubles(function, args, kwargs)
        noisy, name = None, _name(function)
        is_composed = any(part in name for part in COMPOSED)
        if (torch.Tag.pointwise not in function.tags or is_composed) and not function._schema.is_mutable:
            noisy = function(*_mapped(args, self._moved), **_mapped(kwargs, self._moved))
        is_rounded = (is_composed and not _has_few_digits(args)) or any(part in name for part in ROUNDED)
        result = function(*args, **kwargs)
        results = _pytree.tree_leaves(result)
        if exact is not None and len(exact) == len(results):
            for number, (one, other) in enumerate(zip(results, exact, strict=True)):
                moved = None if noisy is None else _pytree.tree_leaves(noisy)[number]
                self._move(one, other, moved, is_rounded)
        if name in CANCELLING:
            result.add_(self._moved(args[0]) - args[0])
        return result

    def _moved(self, x: torch.Tensor) -> torch.Tensor:
        if not x.is_floating_point() or not x.numel():
            return x
        noise = torch.randn(x.shape, generator=self._random, dtype=torch.float64)
        return (x.double() * (1 + UNITS * torch.finfo(x.dtype).eps * noise)).to(x.dtype)

    def _move(self, result: Any, exact: Any, noisy: Any, is_rounded: bool) -> None:
        if not isinstance(result, torch.Tensor) or not result.is_floating_point() or result.shape != exact.shape:
            return
        is_exact = (result.double() == exact) | (result.isnan() & exact.isnan())
        if is_rounded:
            is_exact = torch.zeros_like(is_exact)
        if not bool(is_exact.all()):
            moved = self._moved(result if noisy is None else noisy)
            result.copy_(torch.where(is_exact, result, moved))

    def _chosen(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Equal numbers are told apart by chance."""
        result = function(*args, **kwargs)
        other = function(*_mapped(args, self._ranked), **kwargs)
        for one, drawn in zip(_pytree.tree_leaves(result), _pytree.tree_leaves(other), strict=True):
            if one.dtype is torch.int64 and drawn.dtype is torch.int64:
                one.copy_(drawn)
        return result

    def _compared(self, function: Any, args: Any) -> Any:
        """What is nearly equal is equal by chance."""
        result = function(*args)
        left, right = (one.double() if isinstance(one, torch.Tensor) else torch.tensor(float(one)) for one in args)
        is_near = (left != right) & ((left - right).abs() < 1e-5 * (left.abs() + right.abs()))
        return result ^ (is_near & (torch.rand(result.shape, generator=self._random) < 0.5))

    def _ranked(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.double()
        noise = torch.randn(x.shape, generator=self._random, dtype=torch.float64)
        return wide + noise * 1e-7 * (wide.abs() + 1e-7)


def _has_floats(tree: Any) -> bool:
    return any(isinstance(leaf, torch.Tensor) and leaf.is_floating_point() for leaf in _pytree.tree_leaves(tree))


def _has_few_digits(tree: Any) -> bool:
    """Whether products and sums of a few of the numbers are exact in any order, also in short types."""
    tensors = [leaf for leaf in _pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
    return all(bool(((x * 4).round() == x * 4).all()) and bool((x.abs() <= 8).all()) for x in tensors)


def _mapped(tree: Any, function: Any) -> Any:
    return _pytree.tree_map(lambda leaf: function(leaf) if isinstance(leaf, torch.Tensor) else leaf, tree)


def _in_doubles(function: Any, args: Any, kwargs: Any) -> list[Any] | None:
    """The results in float64, or what a call writes to; None where there is no such call."""

    def double(x: torch.Tensor) -> torch.Tensor:
        return x.double() if x.is_floating_point() else x.clone()

    options = {**_mapped(kwargs, double)}
    if isinstance(options.get("dtype"), torch.dtype) and options["dtype"].is_floating_point:
        options["dtype"] = torch.float64
    try:
        results: list[Any] = _pytree.tree_leaves(function(*_mapped(args, double), **options))
    except Exception:  # of operators that have no float64
        return None
    return results
