"""How bad input must be refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from snellen.core.errors import SnellenError


def assert_refused(call: Callable[[], object], message: str) -> None:
    """In one line that says `message`."""
    with pytest.raises(SnellenError) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
