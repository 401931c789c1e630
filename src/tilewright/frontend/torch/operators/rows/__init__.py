"""Sums and other functions of rows, products, and what is made of them."""
