"""Emission of loop nests as C."""
