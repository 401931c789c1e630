"""Operands of products: cost of packing, gain of prefetching, and operands that are read once."""
