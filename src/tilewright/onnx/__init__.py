"""ONNX models: `import tilewright.onnx as ort` in place of onnxruntime; each name is imported when it is first used.

Models need the package onnx.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tilewright import __version__ as __version__

if TYPE_CHECKING:
    from tilewright.api.onnx.options import ExecutionMode as ExecutionMode
    from tilewright.api.onnx.options import ExecutionOrder as ExecutionOrder
    from tilewright.api.onnx.options import GraphOptimizationLevel as GraphOptimizationLevel
    from tilewright.api.onnx.options import RunOptions as RunOptions
    from tilewright.api.onnx.options import SessionOptions as SessionOptions
    from tilewright.api.onnx.ort_value import IOBinding as IOBinding
    from tilewright.api.onnx.ort_value import OrtValue as OrtValue
    from tilewright.api.onnx.ort_value import copy_tensors as copy_tensors
    from tilewright.api.onnx.session import InferenceSession as InferenceSession
    from tilewright.api.onnx.session import ModelMetadata as ModelMetadata
    from tilewright.api.onnx.session import NodeArg as NodeArg
    from tilewright.onnx import capi as capi
    from tilewright.onnx.capi.onnxruntime_pybind11_state import get_all_providers as get_all_providers
    from tilewright.onnx.capi.onnxruntime_pybind11_state import get_available_providers as get_available_providers
    from tilewright.onnx.capi.onnxruntime_pybind11_state import get_device as get_device
    from tilewright.onnx.capi.onnxruntime_pybind11_state import get_version_string as get_version_string

_HOMES = {
    "tilewright.api.onnx.options": ("ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "RunOptions", "SessionOptions"),
    "tilewright.api.onnx.ort_value": ("IOBinding", "OrtValue", "copy_tensors"),
    "tilewright.api.onnx.session": ("InferenceSession", "ModelMetadata", "NodeArg"),
    "tilewright.onnx.capi": ("capi",),
    "tilewright.onnx.capi.onnxruntime_pybind11_state": (
        *("get_all_providers", "get_available_providers", "get_device", "get_version_string"),
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_build_info",
    "has_collective_ops",
    "preload_dlls",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
    *_HOME_OF,
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(_HOME_OF[name])
    globals()[name] = value = home if name == "capi" else getattr(home, name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])


def set_default_logger_severity(severity: int) -> None:
    """Ignored: see `TILEWRIGHT_LOG`."""


def set_default_logger_verbosity(verbosity: int) -> None:
    """Ignored: see `TILEWRIGHT_LOG`."""


def set_seed(seed: int) -> None:
    """Ignored."""


def get_build_info() -> str:
    """Tilewright's version."""
    return f"Tilewright {__version__}"


def has_collective_ops() -> bool:
    """No."""
    return False


def disable_telemetry_events() -> None:
    """Nothing is sent."""


def enable_telemetry_events() -> None:
    """Ignored: nothing is sent."""


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Nothing to load."""
