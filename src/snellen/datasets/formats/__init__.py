"""Readers of layouts shared by several datasets."""
