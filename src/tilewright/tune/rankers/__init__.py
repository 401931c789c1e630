"""Rankers put variants of a problem in the order in which they are worth measuring."""
