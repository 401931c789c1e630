"""Recurrent layers: a cell applied along a sequence."""
