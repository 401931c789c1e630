"""Vector dialects: one C vocabulary for every instruction set."""
