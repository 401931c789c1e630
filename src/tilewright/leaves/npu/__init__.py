"""Leaves of NPUs."""
