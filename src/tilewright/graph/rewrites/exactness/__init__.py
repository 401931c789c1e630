"""Exactness: marks of what a discontinuous function reads, and rewrites that leave it alone or keep its roundings."""
