"""Tracing frontend: a Python function is called with traced arrays, which record a graph."""
