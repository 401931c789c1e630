"""Algorithms for products and convolutions of bytes: zero points, signs, 16-bit numbers, copies that suit groups of steps."""
