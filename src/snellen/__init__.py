"""Snellen: an eye exam for vision-language models, vision encoders and people.

`snellen.examine(subject, "combo").report()` examines any callable from parts to text; `await snellen.aexamine(…)` does
so where an event loop runs, and blocks nobody.
"""

import typing

from snellen.core.lazy import lazy_names

if typing.TYPE_CHECKING:
    from snellen.core.errors import SnellenError as SnellenError
    from snellen.exam import Examination as Examination
    from snellen.exam import aexamine as aexamine
    from snellen.exam import examine as examine
    from snellen.training import checkpoint_exam as checkpoint_exam
    from snellen.training import exam_callback as exam_callback

    __version__: str

__all__ = ["Examination", "SnellenError", "__version__", "aexamine", "checkpoint_exam", "exam_callback", "examine"]


_lazy_name = lazy_names(
    __name__,
    {
        "Examination": "snellen.exam",
        "SnellenError": "snellen.core.errors",
        "aexamine": "snellen.exam",
        "checkpoint_exam": "snellen.training",
        "exam_callback": "snellen.training",
        "examine": "snellen.exam",
    },
)


def __getattr__(name: str) -> typing.Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("snellen")
    return _lazy_name(name)


def __dir__() -> list[str]:
    return __all__
