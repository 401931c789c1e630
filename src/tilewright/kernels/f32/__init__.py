"""Generators of float32 micro kernels: outer products, inner products, dot products."""
