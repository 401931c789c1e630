"""Random programs that lead whole numbers, halves, thirds and decimals in float32 to discontinuous functions.

Every operator on the way is rounded as its definition says, so that what a discontinuous function makes is known bit for bit: a
rewrite or an algorithm that rounds otherwise is seen as another integer, or another choice. NumPy's float32 is the oracle. Sums
are of numbers whose sums are exact in any order.
"""
