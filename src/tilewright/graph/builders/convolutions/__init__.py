"""Builders of convolutions and pools: windows, products over them, means, and their transposed relatives."""
