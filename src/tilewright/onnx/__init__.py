"""ONNX models: `import tilewright.onnx as ort` in place of onnxruntime. Needs the package onnx."""

try:
    import onnx as _onnx  # noqa: F401
except ImportError as problem:
    raise ImportError("tilewright.onnx needs the package onnx: pip install onnx") from problem

from tilewright import __version__ as __version__
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
