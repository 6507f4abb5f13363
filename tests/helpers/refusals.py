"""How bad input must be refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from snellen.core.errors import SnellenError


def assert_refused(call: Callable[[], object], told: str) -> None:
    """In one line that says `told`."""
    with pytest.raises(SnellenError) as caught:
        call()
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
