"""Tile programs: what a leaf computes on one tile, in typed values of vectors, before it has a language."""
