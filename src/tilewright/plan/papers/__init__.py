"""Readings of the papers, reproduced for study and comparison. No plan depends on them."""
