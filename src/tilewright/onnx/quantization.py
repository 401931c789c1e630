"""Refused: quantised models are run, and made by onnxruntime's own tools."""

from tilewright.ort_errors import MissingModule

raise MissingModule(
    "tilewright.onnx.quantization does not exist",
    why="Tilewright runs quantised models and makes none",
    hint="quantise with onnxruntime.quantization, and give the model to tilewright.onnx.InferenceSession",
)
