"""The checks, each in its module, by the names of `--checks`. A further one is a module and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from snellen_sight.checks.aspect import ASPECT
from snellen_sight.checks.check import SightCheck
from snellen_sight.checks.colours import COLOURS
from snellen_sight.checks.compression import COMPRESSION
from snellen_sight.checks.crop import CROP
from snellen_sight.checks.order import ORDER
from snellen_sight.checks.orientation import ORIENTATION
from snellen_sight.checks.sequence import SEQUENCE
from snellen_sight.checks.shades import SHADES
from snellen_sight.checks.transparency import TRANSPARENCY
from snellen_sight.checks.whole import WHOLE

CHECKS: Mapping[str, SightCheck] = {
    "colours": COLOURS, "sequence": SEQUENCE, "order": ORDER, "orientation": ORIENTATION,
    "transparency": TRANSPARENCY, "crop": CROP, "aspect": ASPECT, "whole": WHOLE, "compression": COMPRESSION,
    "shades": SHADES,
}  # fmt: skip
CHOICES = ("image", *CHECKS, "resolution", "pointing")
"""What can be chosen: whether an image arrives is always asked, with the colours."""
