"""Readers of layouts that several datasets share."""
