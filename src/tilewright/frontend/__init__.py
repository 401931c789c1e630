"""Frontends: traced Python functions and ONNX models become graphs."""
