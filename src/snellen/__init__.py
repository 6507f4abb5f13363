"""Snellen: an eye exam for vision-language models, vision encoders and people.

`snellen.examine(subject, "combo").report()` examines any callable from parts to text; `await snellen.aexamine(…)` does
so where an event loop runs, and blocks nobody.
"""

import typing

if typing.TYPE_CHECKING:
    from snellen.core.errors import SnellenError as SnellenError
    from snellen.exam import Examination as Examination
    from snellen.exam import aexamine as aexamine
    from snellen.exam import examine as examine

    __version__: str

__all__ = ["Examination", "SnellenError", "__version__", "aexamine", "examine"]  # see __getattr__


def __getattr__(name: str) -> typing.Any:
    if name not in __all__:
        raise AttributeError(f"module 'snellen' has no attribute {name!r}")
    import importlib

    if name == "__version__":
        metadata = importlib.import_module("importlib.metadata")
        return metadata.version("snellen")
    return getattr(importlib.import_module("snellen.core.errors" if name == "SnellenError" else "snellen.exam"), name)


def __dir__() -> list[str]:
    return __all__
