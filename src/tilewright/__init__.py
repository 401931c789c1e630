"""Tilewright: chains of tensor operators become native kernels whose loop order, tiles and fusion are calculated.

The public names; each is imported when it is first used, the planner and the code generator when they are. See `tilewright.jit`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tilewright import errors
from tilewright.version import VERSION as __version__

if TYPE_CHECKING:
    from tilewright.api.config import show_config as show_config
    from tilewright.api.jit import Jitted as Jitted
    from tilewright.api.jit import jit as jit
    from tilewright.api.kernel import Kernel as Kernel
    from tilewright.api.kernel import Lowered as Lowered
    from tilewright.api.loading import load as load
    from tilewright.api.spec import Dim as Dim
    from tilewright.api.spec import spec as spec
    from tilewright.errors import *  # noqa: F403
    from tilewright.frontend.tracing.attention import scaled_dot_product_attention as scaled_dot_product_attention
    from tilewright.frontend.tracing.convolution import *  # noqa: F403
    from tilewright.frontend.tracing.functions import *  # noqa: F403
    from tilewright.frontend.tracing.norms import *  # noqa: F403
    from tilewright.frontend.tracing.pooling import *  # noqa: F403
    from tilewright.machine.machine import Machine as Machine

_FUNCTIONS = "tilewright.frontend.tracing.functions"
_HOMES = {
    "tilewright.api.jit": ("jit", "Jitted"),
    "tilewright.api.kernel": ("Kernel", "Lowered"),
    "tilewright.api.spec": ("Dim", "spec"),
    "tilewright.api.config": ("show_config",),
    "tilewright.api.loading": ("load",),
    "tilewright.machine.machine": ("Machine",),
    "tilewright.errors": tuple(errors.__all__),
    "tilewright.frontend.tracing.attention": ("scaled_dot_product_attention",),
    "tilewright.frontend.tracing.convolution": tuple(
        f"{kind}{rank}d" for kind in ("conv", "conv_transpose") for rank in (1, 2, 3)
    ),
    "tilewright.frontend.tracing.pooling": ("max_pool", "avg_pool", "global_max_pool", "global_avg_pool"),
    "tilewright.frontend.tracing.norms": ("group_norm", "layer_norm", "rms_norm"),
    _FUNCTIONS: (
        *("einsum", "matmul", "softmax", "safe_softmax", "sum", "prod", "max", "min", "mean"),
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "pow", "square", "reciprocal"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        *("abs", "negative", "positive", "sign", "floor", "ceil", "trunc", "round", "isnan", "isinf", "isfinite"),
        *("relu", "sigmoid", "silu", "gelu", "erf", "erfc"),
        *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "maximum", "minimum"),
        *("where", "clip", "astype", "asarray", "arange"),
        *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or"),
        *("logical_xor", "logical_not"),
        *("reshape", "transpose", "permute_dims", "matrix_transpose", "swapaxes", "expand_dims", "squeeze", "broadcast_to"),
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        return _missing(name)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def _missing(name: str) -> Any:
    """Names that modules are looked up by must fail as Python expects; other names get the closest function as a hint."""
    from importlib.util import find_spec

    if name.startswith("_") or find_spec(f"{__name__}.{name}") is not None:
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}")
    return getattr(import_module(_FUNCTIONS), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
