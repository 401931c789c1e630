"""Renderers: loop nests as text, a folder for each language."""
