"""Runtime: compiling, caching, loading and calling generated code."""
