"""Calls: arguments as flat lists of arrays, their structures, and the kernels that are found by them."""
