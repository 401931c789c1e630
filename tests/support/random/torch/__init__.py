"""Random programs of PyTorch, as Python text, under torch.compile with the backend "tilewright", against eager mode.

`values` are tensors of all types, values and layouts, `program` a module with its calls and the changes between these, `growing`
how it gets another line, `pointwise`, `views`, `writes`, `rows`, `layers` and `positions` which lines there are, `rounding` how
far other roundings move results, `judging` compares, `shrinking` finds the smallest program that fails.
`python -m tests.support.random.torch 0 100` tries a hundred.
"""
