"""`python -m snellen`: the command line."""

from snellen.cli import main

main()
