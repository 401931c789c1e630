"""Generators: tensors made of attributes, extents, positions and random numbers."""
