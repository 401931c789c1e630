"""C texts of the scalar functions: vectors of float32, lanes, scalars, and doubles."""
