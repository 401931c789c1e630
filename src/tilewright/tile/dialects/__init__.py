"""What an instruction set has: one file each, with its instruction table."""
