"""Backends: how the plan of a graph becomes something that runs, one file for each kind of device."""
