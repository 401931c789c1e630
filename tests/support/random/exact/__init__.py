"""Random programs whose results are known bit for bit, in all element types: `casts` and `positions`."""
