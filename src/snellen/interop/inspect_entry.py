"""What Inspect AI finds by our entry point: our tasks, unless it is we who open a model by its providers.

These load the entry points of everybody. Our tasks bring every suite along, a fifth of what a run does before its first
call, and nobody asks for them there.
"""

from __future__ import annotations

from snellen.subjects.chat.layer import is_opening

if not is_opening():
    import snellen.interop.inspect_tasks  # noqa: F401  # it registers them
