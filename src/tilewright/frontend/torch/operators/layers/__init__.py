"""Layers of networks that are one call."""
