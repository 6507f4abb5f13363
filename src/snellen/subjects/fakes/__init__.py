"""Subjects with known abilities and deficits: what proves that items are solvable and leak nothing."""

from snellen.subjects.fakes.make import FAKES, make_fake

__all__ = ["FAKES", "make_fake"]
