"""The blind baseline: the score of attackers that know the words, the options and their order, but no image.

A score that they reach too is no evidence of sight, whatever chance is. `attacks` has the attackers, `learner` the one
that learns from everything but pixels; `measure` lets the best of them answer items on which it was not chosen.
"""

from snellen.analysis.blind.measure import guesses_by_folds, measure_blind, measure_by_folds, too_blind

__all__ = ["guesses_by_folds", "measure_blind", "measure_by_folds", "too_blind"]
