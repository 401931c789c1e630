"""What leaves share that lower to tile programs: parameters, loops, elements in memory, expressions."""
