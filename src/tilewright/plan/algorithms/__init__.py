"""Algorithms: ways to compute one operator, one file each; all that apply are priced, and the cheapest is chosen."""
