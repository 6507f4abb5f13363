"""The assertion that bad input is refused in one line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from snellen.core.errors import SnellenError


def assert_refused(call: Callable[[], object], message: str) -> None:
    """Assert that `call` raises one line that contains `message`."""
    with pytest.raises(SnellenError) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
