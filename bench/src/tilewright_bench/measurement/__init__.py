"""Measurement: contenders, interleaved timing, worker processes and provenance."""
