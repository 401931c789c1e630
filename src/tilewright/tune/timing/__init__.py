"""Timing: rounds, turns, pairs and rates."""
