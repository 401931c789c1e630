"""Search: bounds, the exact search of the fusion level, inner loops for L1, and the reasons against what lost."""
