"""Reductions along axes, and what else combines the elements along an axis."""
