"""What of an image reaches a vision-language model: `sight(callable)`, and `snellen-sight URL MODEL` in the shell."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snellen_sight.asking import sight as sight
    from snellen_sight.asking import sight_of_server as sight_of_server
    from snellen_sight.results import SightResult as SightResult

__version__ = "0.2.0"
__all__ = ["SightResult", "sight", "sight_of_server"]
_MODULES = {
    "SightResult": "snellen_sight.results", "sight": "snellen_sight.asking", "sight_of_server": "snellen_sight.asking",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
