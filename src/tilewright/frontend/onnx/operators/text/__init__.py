"""Text: tensors of strings, and counts of n-grams."""
