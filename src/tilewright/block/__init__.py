"""The block program: what is computed on which blocks, for no device and in no language."""
