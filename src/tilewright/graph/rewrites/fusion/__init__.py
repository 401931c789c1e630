"""Fusion: bodies composed with what they read, and reductions of rows with the maps around them."""
