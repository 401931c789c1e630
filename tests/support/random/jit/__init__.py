"""Random programs of every traced function and every kind of view, as Python text, against NumPy in float64.

`reference` is what the functions mean, `program` a program, `growing` how it gets another line, `lines` which lines there are,
`judging` compares, `shrinking` finds the smallest program that fails. `python -m tests.support.random.jit 0 100` tries a hundred.
"""
