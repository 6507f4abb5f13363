"""docs/reliability.md states when the slow tests of each folder were run last, and what came of it."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "nightly.py"))
JUNIT = """<testsuites><testsuite>
<testcase classname="tests.web.test_page" name="a" time="1.5"/>
<testcase classname="tests.web.parts.test_page" name="b" time="301.2"><failure message="no"/></testcase>
<testcase classname="tests.web.test_form" name="c" time="0.1"><skipped message="no"/></testcase>
<testcase classname="tests.test_form" name="d" time="2"><error message="no"/></testcase>
</testsuite></testsuites>"""


def test_the_page_has_the_record() -> None:
    """`python scripts/nightly.py FOLDER` runs the slow tests of a folder and writes both."""
    page = SCRIPT["PAGE"].read_text("utf-8")
    assert SCRIPT["with_table"](page, SCRIPT["read_record"]()) == page


def test_every_folder_with_slow_tests_has_a_row_and_those_never_run_say_so() -> None:
    results = SCRIPT["results_of"](JUNIT, "abc", "2026-11-29", 152.4)
    rows = SCRIPT["table"]({**results, "gone": results["web"]}).splitlines()[2:]
    assert len(rows) == len(SCRIPT["folders"]()) + 1 > 15
    assert [row for row in rows if not row.endswith("|never|||||||")] == [
        "|.|2026-11-29|abc|1|1|0|2|2|",
        "|web|2026-11-29|abc|3|1|1|303|301|",
        "|all|2026-11-29|abc|4|2|1|152|301|",
    ]


def test_the_record_is_of_folders_that_have_slow_tests() -> None:
    assert set(SCRIPT["read_record"]()) <= {*SCRIPT["folders"](), "all"}
