"""The exceptions of onnxruntime, its classes, and what it says of itself, by the names that users import from this module."""

from tilewright import __version__
from tilewright.api.onnx.options import PROVIDER as _PROVIDER
from tilewright.api.onnx.options import ExecutionMode as ExecutionMode
from tilewright.api.onnx.options import ExecutionOrder as ExecutionOrder
from tilewright.api.onnx.options import GraphOptimizationLevel as GraphOptimizationLevel
from tilewright.api.onnx.options import RunOptions as RunOptions
from tilewright.api.onnx.options import SessionOptions as SessionOptions
from tilewright.api.onnx.ort_value import OrtValue as OrtValue
from tilewright.api.onnx.session import InferenceSession as InferenceSession
from tilewright.api.onnx.session import ModelMetadata as ModelMetadata
from tilewright.api.onnx.session import NodeArg as NodeArg
from tilewright.ort_errors import *  # noqa: F403
from tilewright.ort_errors import NotImplementedHere

NotImplemented = NotImplementedHere


def get_version_string() -> str:
    """Tilewright's version."""
    return __version__


def get_available_providers() -> list[str]:
    """The one provider."""
    return [_PROVIDER]


get_all_providers = get_available_providers


def get_device() -> str:
    """CPU."""
    return "CPU"
