"""Tuning: cache simulation, replay of memory traces, and timing."""
