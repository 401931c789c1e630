"""Cases that are not supported, and cases of the compiled families that run as NumPy, each with its reason."""

REASONS: dict[str, str] = {}
"""By name of the case."""

NUMPY_ONLY: dict[str, str] = {}
"""By name of the case."""
