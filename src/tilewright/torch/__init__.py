"""`torch.compile(model, backend="tilewright")`; each name is imported when it is first used.

Needs the package torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.api.torch.attention_interface import register_attention as register_attention
    from tilewright.api.torch.backend import backend as backend
    from tilewright.api.torch.explaining import explain as explain
    from tilewright.api.torch.exported import load as load
    from tilewright.api.torch.fused import attention as attention
    from tilewright.api.torch.fused import mlp as mlp
    from tilewright.api.torch.weights import refresh as refresh

_HOMES = {
    "tilewright.api.torch.attention_interface": ("register_attention",),
    "tilewright.api.torch.backend": ("backend",),
    "tilewright.api.torch.explaining": ("explain",),
    "tilewright.api.torch.exported": ("load",),
    "tilewright.api.torch.fused": ("attention", "mlp"),
    "tilewright.api.torch.weights": ("refresh",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*_HOME_OF]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
