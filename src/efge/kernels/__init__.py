"""Every compiled loop, a file a room; kernels take arrays and scalars, fill what they are given, and decide nothing.

Kernels that call each other share a file, because Numba's cache does not see an edit in another file. The exception is
``intrinsics``, whose two instructions do not change.
"""
