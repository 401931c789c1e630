"""Where users of onnxruntime import its exceptions from."""

from tilewright.onnx.capi import onnxruntime_pybind11_state as onnxruntime_pybind11_state
