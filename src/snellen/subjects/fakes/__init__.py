"""Simulated subjects with known abilities and deficits, which show that items are solvable and leak nothing."""

from snellen.subjects.fakes.make import FAKES, make_fake

__all__ = ["FAKES", "make_fake"]
