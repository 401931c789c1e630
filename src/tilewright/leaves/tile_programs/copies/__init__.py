"""Copies of operands as tile programs: panels, rows, and squares of lanes that turn."""
