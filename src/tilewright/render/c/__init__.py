"""Loop nests as C, and the library of a model."""
