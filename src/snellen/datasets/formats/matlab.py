"""Variables of MATLAB files, versions 4 to 7.2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def read_variable(path: Path, variable: str, read: Callable[[Any], T]) -> T | str:
    """What `read` makes of the variable, a NumPy array of one dimension, or what is wrong with the file."""
    import scipy.io

    try:
        with path.open("rb") as file:
            variables = scipy.io.loadmat(file, variable_names=[variable])  # type: ignore[arg-type]
        return read(variables[variable].reshape(-1))
    except FileNotFoundError:
        return "file of the layout is not there"
    except NotImplementedError:
        return "MATLAB 7.3 file, which is not read here; save it again in MATLAB with -v7"
    except KeyError:
        return f"MATLAB file without the variable {variable}"
    except Exception as error:  # noqa: BLE001  # loadmat raises whatever a damaged file leads it to
        return f"not a readable MATLAB file ({type(error).__name__}); copy it again"
