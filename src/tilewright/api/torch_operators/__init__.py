"""Calls of jitted functions in graphs of torch: one custom operator, which any backend keeps as it is."""
