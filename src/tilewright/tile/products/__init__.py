"""Tile programs of products of matrices: register tiles under the contract of micro kernels."""
