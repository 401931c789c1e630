"""Tiles of products, as tile programs."""
