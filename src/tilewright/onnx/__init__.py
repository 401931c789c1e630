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
from tilewright.api.onnx.options import disable_telemetry_events as disable_telemetry_events
from tilewright.api.onnx.options import enable_telemetry_events as enable_telemetry_events
from tilewright.api.onnx.options import get_all_providers as get_all_providers
from tilewright.api.onnx.options import get_available_providers as get_available_providers
from tilewright.api.onnx.options import get_build_info as get_build_info
from tilewright.api.onnx.options import get_device as get_device
from tilewright.api.onnx.options import get_version_string as get_version_string
from tilewright.api.onnx.options import has_collective_ops as has_collective_ops
from tilewright.api.onnx.options import preload_dlls as preload_dlls
from tilewright.api.onnx.options import set_default_logger_severity as set_default_logger_severity
from tilewright.api.onnx.options import set_default_logger_verbosity as set_default_logger_verbosity
from tilewright.api.onnx.options import set_seed as set_seed
from tilewright.api.onnx.ort_value import IOBinding as IOBinding
from tilewright.api.onnx.ort_value import OrtValue as OrtValue
from tilewright.api.onnx.ort_value import copy_tensors as copy_tensors
from tilewright.api.onnx.session import InferenceSession as InferenceSession
from tilewright.api.onnx.session import ModelMetadata as ModelMetadata
from tilewright.api.onnx.session import NodeArg as NodeArg
from tilewright.onnx import capi as capi
