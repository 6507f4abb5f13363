"""Snellen: an eye exam for vision-language models, vision encoders and people."""
