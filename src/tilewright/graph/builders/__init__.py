"""Builders of canonical operators: index maps, bodies and reductions, checked against the shapes of their operands."""
