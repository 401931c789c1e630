"""Compilation: the C compiler, its flags, one build, and libraries of artifacts."""
