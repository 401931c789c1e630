"""Winograd's algorithms: convolutions by products of sums over tiles of an image."""
