"""Vector dialects: what micro kernels know of the vectors of an instruction set."""
