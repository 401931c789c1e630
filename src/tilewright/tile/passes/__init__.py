"""Passes over tile programs."""
