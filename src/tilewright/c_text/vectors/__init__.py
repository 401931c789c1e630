"""Emission of vector loops: maps and row-wise reductions over vectors of float32."""
