"""Leaves: each computes one operator on one tile. One file declares a leaf: what it takes, what it costs, and its C."""
