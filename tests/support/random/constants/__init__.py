"""Random programs whose weights, shifts, tables and positions are computed from constants."""
