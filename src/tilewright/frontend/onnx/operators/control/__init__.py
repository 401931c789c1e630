"""Control flow: conditions, loops and scans over graphs, sequences and optional values."""
