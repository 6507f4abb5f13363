"""Curation of item sets: steps to be answered, reviews, splits and draws."""
