"""Matrix kernels of bfloat16, summed in float32."""
