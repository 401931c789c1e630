"""Index changes: transposes, reshapes and slices in the accesses of operators, tensors of fewer dimensions, split axes."""
