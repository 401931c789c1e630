"""Neural networks: convolution, pooling, normalization, attention."""
