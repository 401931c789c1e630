"""Tensors: shapes, moves and choices of elements."""
