"""Quantization: numbers in 8 bits and fewer, and products of them."""
