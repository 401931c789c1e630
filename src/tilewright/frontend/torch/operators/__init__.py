"""Lowerings of ATen's operators, by groups."""
