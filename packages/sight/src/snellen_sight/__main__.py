"""`python -m snellen_sight`."""

from snellen_sight.command import run

run()
