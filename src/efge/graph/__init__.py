"""Graphs: any object or file that is a graph in, a :class:`efge.Graph` out.

`inputs` accepts everything: objects of other libraries go to `objects`, files to `readers`. Text is split by
`text_lines`, `text_layout` and `text_edges`, names get rows by `encoders`, and `build` sorts edges into a `graph`.
`external` converts edge lists that are larger than memory to files that `mapped` opens.

May import errors, parallel, random, io and the kernels.
"""
