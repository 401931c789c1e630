"""Mathematical functions in tile operations, once for float32 and float64."""
