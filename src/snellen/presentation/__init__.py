"""Showing: how a condition turns an item into what is sent."""
