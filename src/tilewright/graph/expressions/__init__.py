"""Expressions: integers that sizes consist of, quasi-affine index maps, and the scalar bodies of operators."""
