"""Cost model: movement, memory and time of a schedule on a machine. Pure functions; nothing is chosen."""
