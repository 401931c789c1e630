"""Random programs that are very deep, very wide, very long (planned only), or of high rank, as Python text, against NumPy.

`program` is a program and its text, `growing` how a seed becomes one, `judging` compiles and compares, `shrinking` finds the
smallest program that fails. `python -m tests.support.random.extremes 0 100` tries a hundred.
"""
