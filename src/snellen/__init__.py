"""Snellen: an eye exam for vision-language models, vision encoders and people.

`snellen.examine(subject, "combo").report()` examines any callable from parts to text; `await snellen.aexamine(…)` does
so where an event loop runs, and blocks nobody.
"""

import typing

from snellen.core.lazy import lazy_names

if typing.TYPE_CHECKING:
    from snellen.core.errors import SnellenError as SnellenError
    from snellen.exam.checkpoints import checkpoint_exam as checkpoint_exam
    from snellen.exam.checkpoints import exam_callback as exam_callback
    from snellen.exam.examine import aexamine as aexamine
    from snellen.exam.examine import examine as examine
    from snellen.exam.run import Examination as Examination

    __version__: str

__all__ = ["Examination", "SnellenError", "__version__", "aexamine", "checkpoint_exam", "exam_callback", "examine"]


_lazy_name = lazy_names(
    __name__,
    {
        "Examination": "snellen.exam.run",
        "SnellenError": "snellen.core.errors",
        "aexamine": "snellen.exam.examine",
        "checkpoint_exam": "snellen.exam.checkpoints",
        "exam_callback": "snellen.exam.checkpoints",
        "examine": "snellen.exam.examine",
    },
)


def __getattr__(name: str) -> typing.Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("snellen")
    return _lazy_name(name)


def __dir__() -> list[str]:
    return __all__
