"""Entry point of Inspect AI: registers our tasks, unless Snellen itself is opening a model.

Inspect's model providers load the entry points of all packages. Our tasks import every suite, which would be a fifth of
the time before a run's first call, and are not needed there.
"""

from __future__ import annotations

from snellen.subjects.chat.layer import is_opening

if not is_opening():
    import snellen.interop.inspect_tasks  # noqa: F401  # registers the tasks
