"""Tile programs as C: one function each, or statements within another function."""
