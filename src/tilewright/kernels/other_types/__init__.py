"""Matrix kernels of other element types than float32: a file for each."""
