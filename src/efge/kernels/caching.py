"""How kernels are compiled, kept in Numba's cache, and loaded without the parts of Numba that only compilers need."""

from collections.abc import Callable
from typing import Any

from numba import _dynfunc, njit
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime import rtsys

# Private to Numba: where a version lacks them, kernels load as other functions do.
_NEEDED = ("_load_overload", "_guard_against_spurious_io_errors")

# What to call before a kernel is compiled that is not in the cache.
before_compilation: list[Callable[[], None]] = []


class _LightCache(FunctionCache):  # type: ignore[misc]
    """A cache whose functions are loaded before Numba has imported its implementations of Python and NumPy.

    These are a hundred modules, and SciPy's linear algebra. Numba imports them before it looks into a cache, which took
    a quarter of the time to embed a small graph. Code that is loaded calls none of them, and whatever has to be
    compiled imports them first.
    """

    # If another process compiles this kernel: a function that waits for the end of that.
    wait: Callable[[], None] | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature, or None if it is not in the cache."""
        # Compiled code calls the runtime, which counts references to arrays.
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            compiled = self._load_overload(sig, target_context)
        wait, self.wait = self.wait, None
        if compiled is None and wait is not None:
            wait()
            with self._guard_against_spurious_io_errors():
                compiled = self._load_overload(sig, target_context)
        if compiled is None:
            for call in before_compilation:
                call()
        return compiled


class _HelperLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Optimized code of a function that only kernels call: machine code is made of theirs, of which it is a part."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _HelperCompiler(Compiler):  # type: ignore[misc]
    """Compiles functions that only kernels call. Machine code of each alone took a sixth of a kernel's compilation."""

    def compile_extra(self, function: Any) -> Any:
        target = self.state.targetctx
        self.state.library = _HelperLibrary(target.codegen(), function.__qualname__)

        def get_executable(library: Any, description: Any, environment: Any) -> Any:
            # Numba knows a compiled function by this object; its address is 0, because Python never calls it.
            module, name = description.lookup_module(), description.qualname
            return _dynfunc.make_function(module, name, "", 0, environment, (library,))

        target.get_executable = get_executable
        return super().compile_extra(function)


# Where a version of Numba lacks what these classes use, helpers are compiled as other functions are.
_HELPER_OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
if all(hasattr(JITCodeLibrary, name) for name in ("_finalize_final_module", "_finalize_dynamic_globals")):
    _HELPER_OPTIONS["pipeline_class"] = _HelperCompiler


def can_compile_elsewhere(kernel: Any) -> bool:
    """Return whether a kernel is not in the cache in any version, and would be loaded if another process saved it."""
    cache = getattr(kernel, "_cache", None)
    if not isinstance(cache, _LightCache):
        return False
    try:
        return not cache._cache_file._load_index()
    except (AttributeError, OSError):
        return False


def expect_from_elsewhere(kernel: Any, wait: Callable[[], None]) -> None:
    """Call `wait` when a kernel is needed, and then look for it in the cache; if it is not there, compile it."""
    kernel._cache.wait = wait


def entry_point(function: Any = None, **options: Any) -> Any:
    """Compile a kernel that Python calls: without Python's lock, and kept in the cache.

    Further options are those of Numba. Functions that only kernels call are part of these, and need no cache.
    """
    if function is None:
        return lambda decorated: entry_point(decorated, **options)
    dispatcher = njit(cache=True, nogil=True, no_cfunc_wrapper=True, **options)(function)
    if all(hasattr(FunctionCache, name) for name in _NEEDED):
        dispatcher._cache.__class__ = _LightCache
    return dispatcher


def helper(function: Any = None, **options: Any) -> Any:
    """Compile a function that only kernels call; calling it from Python would end the process.

    Without wrappers for calls from Python and from C, and without machine code of their own, they compile faster.
    """
    if function is None:
        return lambda decorated: helper(decorated, **options)
    return njit(**_HELPER_OPTIONS, **options)(function)
