"""Triton: one kernel of a region of a block program: a distributed block is a program, a buffer of it a register tile."""
