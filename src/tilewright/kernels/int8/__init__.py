"""Matrix kernels of 8-bit integers, summed in 32 bits."""
