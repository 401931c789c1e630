"""Cases: the operations of the benchmarks, with their operands and references."""
