"""Whole models: partition of a graph into chains, equal chains planned once, arena allocation."""
