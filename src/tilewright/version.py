"""The version of the package: part of what cached kernels are found by."""

__version__ = "0.1.0"
