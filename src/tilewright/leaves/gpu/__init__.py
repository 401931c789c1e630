"""Leaves of GPUs."""
