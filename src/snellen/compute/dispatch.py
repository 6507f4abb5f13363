"""The instruction sets that libraries use on this processor, on which the last digits of results depend."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec


def dispatch() -> str:
    """Numpy's highest instruction set in use and the kernel of each BLAS, e.g. `numpy X86_V4, openblas Haswell`."""
    core = "_core" if find_spec("numpy._core") else "core"  # before version 2
    numpy_build = import_module(f"numpy.{core}._multiarray_umath")  # what numpy.show_runtime() prints
    from threadpoolctl import threadpool_info

    names = (*numpy_build.__cpu_baseline__, *numpy_build.__cpu_dispatch__)
    enabled = [name for name in names if numpy_build.__cpu_features__[name]]
    kernels = dict.fromkeys(
        f"{library['internal_api']} {library.get('architecture', 'of unknown kernel')}"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    )
    return ", ".join([f"numpy {enabled[-1] if enabled else 'without vectors'}", *kernels])
