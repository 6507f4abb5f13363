"""The small set of the suite's own tests."""

from tests.suites.combo.conftest import toy  # noqa: F401
