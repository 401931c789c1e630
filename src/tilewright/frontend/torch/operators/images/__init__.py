"""Windows, and images of another size."""
