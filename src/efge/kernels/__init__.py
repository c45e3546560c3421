"""Every compiled loop, a file a room; kernels take arrays and scalars, fill what they are given, and decide nothing.

Kernels that call each other share a file, because Numba's cache does not see an edit in another file. The exceptions
are ``intrinsics``, ``streams`` and ``rows``: after an edit of these, the caches of those who import them must go
(``make clean``).
"""
