"""What of an image reaches a subject: `snellen sight`."""

from snellen.exam.sight.asking import sight

__all__ = ["sight"]
