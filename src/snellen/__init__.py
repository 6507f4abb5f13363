"""Snellen: an eye exam for vision-language models, vision encoders and people.

`snellen.examine(subject, "combo").report()` examines any callable from parts to text.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snellen.exam import examine as examine

__all__ = ["examine"]


def __getattr__(name: str) -> Any:
    if name == "examine":  # only then: importing snellen stays light
        from snellen.exam import examine

        return examine
    raise AttributeError(f"module 'snellen' has no attribute {name!r}")
