"""Subjects that answer: chat models, image encoders with readouts, and simulated observers."""
