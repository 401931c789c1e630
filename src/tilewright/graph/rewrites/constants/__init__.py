"""Constants: their part of a graph, their values in bodies, and what moves into constant weights."""
