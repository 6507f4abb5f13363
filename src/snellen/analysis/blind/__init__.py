"""The blind baseline: subjects that know the words, the options and their order, and attack the items.

A score that they reach too is no sign of sight, whatever chance is. `attacks` are the attackers, `learner` the one that
learns from everything but pixels, `measure` lets the best of them answer items on which it was not chosen.
"""

from snellen.analysis.blind.measure import guesses_by_folds, measure_blind, measure_by_folds, too_blind

__all__ = ["guesses_by_folds", "measure_blind", "measure_by_folds", "too_blind"]
