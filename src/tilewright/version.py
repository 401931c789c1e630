"""The version of the package, which packages of kernels are of, too."""

VERSION = "0.1.0"
