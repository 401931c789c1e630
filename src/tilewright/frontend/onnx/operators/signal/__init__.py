"""Signals: Fourier transforms, windows and mel bands."""
