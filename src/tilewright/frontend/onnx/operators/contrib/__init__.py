"""Operators of domains outside the ONNX standard, such as com.microsoft."""
