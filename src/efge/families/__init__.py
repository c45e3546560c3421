"""Exponential families: scores and observations come in, log-probabilities and their gradients go out.

`base` defines :class:`efge.Family` and checks a family before it is trained with; `builtin` has one class per
distribution; `tables` tabulates a family's functions as cubic splines, which is all that the kernels evaluate; `odds`
compares the probabilities of a context and of a negative.

May import NumPy and SciPy only, nothing else of this project.
"""
