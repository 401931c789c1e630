"""The search core: the formulas and the search of the fusion level in C, with the Python ones as its oracle and its fallback."""
