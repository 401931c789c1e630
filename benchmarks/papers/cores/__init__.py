"""A simulator of a CPU's cores: blocks dealt as the runtime deals them, private caches, shared caches and bandwidth."""
