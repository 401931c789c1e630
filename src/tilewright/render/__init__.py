"""Renderers: block programs as text, a folder for each language."""
