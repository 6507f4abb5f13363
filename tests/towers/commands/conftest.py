"""The fixture that runs a command."""

from tests.cli.conftest import snellen  # noqa: F401
