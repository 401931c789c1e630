"""Formulas of figures as data: recorded programs, and a sum that they count."""
