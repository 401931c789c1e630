"""Functions at every point."""
