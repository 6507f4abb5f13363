"""Studies are exported to JATOS and results imported, with the same rows as by other transports.

Layout of archives: https://www.jatos.org/JATOS-Study-Archive-JZIP.html and JATOS-Results-Archive.html (3.9).
"""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import time
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.web import jatos
from snellen.web.admission import BadLine, ReadRow, Submission, admit
from snellen.web.jatos import read_archive, read_folder, write_jzip
from snellen.web.participants import as_participants
from snellen.web.plan import RecordRow, Start, StudyPlan
from snellen.web.record_lines import MAX_LINE, line_of, parse_line
from snellen.web.study import read_plan
from tests.helpers.studies import IMAGE, IMAGE_PATH, make_plan, rows_by_name, rows_of_form, write_study
from tests.helpers.study_visitor import served


def as_text(rows: Sequence[RecordRow]) -> str:
    """Rows as the page appends them to JATOS and to its file."""
    return "".join(line_of(row) for row in rows)


def pairs(submissions: Iterable[Submission]) -> list[tuple[str, list[ReadRow]]]:
    """Names and rows, in order."""
    return [(submission.name, list(submission.rows)) for submission in submissions]


def by_name(submissions: Iterable[Submission]) -> dict[str, list[ReadRow]]:
    """Rows by name."""
    return dict(pairs(submissions))


def write_results(path: Path, texts: Mapping[tuple[int, int], str], metadata: str = "[]", **others: str) -> Path:
    """An archive of results, by numbers of study result and component result."""
    with zipfile.ZipFile(path, "w") as archive:
        for (study_result, component_result), text in texts.items():
            archive.writestr(f"study_result_{study_result}/comp_result_{component_result}/data.txt", text)
        archive.writestr("metadata.json", f'{{"apiVersion": "1.0.0", "data": {metadata}}}')
        for name, text in others.items():
            archive.writestr(name, text)
    return path


def listed(*results: tuple[int, int]) -> str:
    """The list of study results in `metadata.json`, each with one component result, by number and size of its data."""
    numbered = [{"id": n, "componentResults": [{"id": n, "data": {"size": size}}]} for n, size in results]
    return json.dumps([{"studyId": 1, "studyResults": numbered}])


@pytest.fixture
def plan() -> StudyPlan:
    return make_plan()


def test_all_transports_give_the_same_rows(tmp_path: Path) -> None:
    with served(tmp_path) as (visitor,):
        rows = {name: rows_of_form(visitor.plan, name, form) for name, form in (("p01", 0), ("p02", 1))}
        for name in rows:
            visitor.begin(rows[name])
    texts = {(7 + number, 70 + number): as_text(rows[name]) for number, name in enumerate(rows)}
    archive = write_results(tmp_path / "jatos.zip", texts)
    export = tmp_path / "jatos_results.txt"
    export.write_text("\n".join(map(as_text, rows.values())), "utf-8")
    folder = tmp_path / "saved"
    folder.mkdir()
    for name in rows:
        (folder / f"{name}.jsonl").write_text(as_text(rows[name]), "utf-8")

    assert rows_by_name(tmp_path) == rows
    assert by_name(read_archive(archive)) == rows
    assert by_name(read_archive(export)) == rows
    assert by_name(read_folder([folder])) == rows
    assert by_name(read_folder(sorted(folder.iterdir()))) == rows


# Studies


def test_a_study_archive_has_the_documented_layout(tmp_path: Path) -> None:
    plan = write_study(tmp_path / "study")
    write_jzip(tmp_path / "study", tmp_path / "small.jzip")
    with zipfile.ZipFile(tmp_path / "small.jzip") as archive:
        names = archive.namelist()
        (properties,) = [name for name in names if name.endswith(".jas")]
        jas = json.loads(archive.read(properties))
        folder = jas["data"]["dirName"]
        assert "/" not in properties
        assert {name.split("/")[0] for name in names if "/" in name} == {folder}
        assert archive.read(f"{folder}/{IMAGE_PATH}") == IMAGE
        assert json.loads(archive.read(f"{folder}/plan.json")) == json.loads(plan.model_dump_json())
        page = archive.read(f"{folder}/index.html").decode()
        assert f"{folder}/vendor/jspsych/LICENSE" in names
        assert not any("study.json" in name or "results" in name for name in names)
    assert 'data-transport="jatos"' in page
    assert '<script src="jatos.js"></script>' in page
    assert list(jas) == ["version", "data"]  # JATOS takes the first `version` that it meets
    assert jas["version"] == "3"
    study = jas["data"]
    (component,), (batch,) = study.pop("componentList"), study.pop("batchList")
    assert len({part.pop("uuid") for part in (study, component, batch)}) == 3
    assert study == {
        "title": "Small", "description": f"A Snellen study, plan {plan.plan_hash}.", "groupStudy": False,
        "linearStudy": False, "allowPreview": False, "dirName": folder, "comments": "", "jsonData": None,
        "endRedirectUrl": "", "studyEntryMsg": None,
    }  # fmt: skip
    assert component == {
        "title": "Small", "htmlFilePath": "index.html", "reloadable": True, "active": True, "comments": "",
        "jsonData": None,
    }  # fmt: skip
    workers = ["GeneralMultiple", "GeneralSingle", "Jatos", "PersonalMultiple", "PersonalSingle"]
    limits = dict.fromkeys(("maxActiveMembers", "maxTotalMembers", "maxTotalWorkers", "comments", "jsonData"))
    assert batch == {"title": "Default", "active": True, "allowedWorkerTypes": workers, **limits}


def test_another_plan_has_other_ids_and_the_address_of_the_panel_is_kept() -> None:
    first, again, other = (
        jatos.study_properties(make_plan().model_copy(update={"plan_hash": text}), "small", "https://p.example")["data"]
        for text in ("a", "a", "b")
    )
    assert (first, isinstance(first, dict) and first["endRedirectUrl"]) == (again, "https://p.example")
    ids = [re.findall(r"'uuid': '(.+?)'", str(study)) for study in (first, other)]
    assert len({*ids[0], *ids[1]}) == 6


def test_titles_are_accepted_by_jatos() -> None:
    plan = make_plan()
    texts = plan.texts.model_copy(update={"title": "Big <b>&</b> small" + 300 * "!"})
    study: Any = jatos.study_properties(plan.model_copy(update={"texts": texts}), "small")["data"]
    assert study["title"].startswith("Big b /b small!!!")
    assert len(study["title"]) <= 255


def test_the_same_study_gives_the_same_bytes(tmp_path: Path) -> None:
    write_study(tmp_path / "study")
    for name in ("one.jzip", "two.jzip"):
        write_jzip(tmp_path / "study", tmp_path / name)
    assert (tmp_path / "one.jzip").read_bytes() == (tmp_path / "two.jzip").read_bytes()
    with pytest.raises(SnellenError, match="already exists"):
        write_jzip(tmp_path / "study", tmp_path / "one.jzip")


# Results


def test_a_reload_continues_in_another_component_result(tmp_path: Path, plan: StudyPlan) -> None:
    rows = rows_of_form(plan, "jatos-9", 0)
    again = RecordRow(sequence=5, record=rows[0].record)
    later = [RecordRow(sequence=row.sequence + 1, record=row.record) for row in rows[5:]]
    texts = {(9, 11): as_text([again, *later]), (9, 4): as_text(rows[:5])}
    assert pairs(read_archive(write_results(tmp_path / "a.zip", texts))) == [("jatos-9", [*rows[:5], again, *later])]
    export = tmp_path / "a.txt"
    other = rows_of_form(plan, "jatos-8", 1)
    export.write_text("\r\n ".join([as_text(rows[:5]), as_text(other), as_text([again, *later])]), "utf-8")
    assert by_name(read_archive(export)) == {"jatos-9": [*rows[:5], again, *later], "jatos-8": other}


@pytest.mark.parametrize(
    "form", ["study_result_{}/comp-result_{}/data.txt", "/study_result_{}/comp_result_{}/data.txt"]
)
def test_names_of_the_documentation_and_of_the_source_are_read(tmp_path: Path, plan: StudyPlan, form: str) -> None:
    rows = {name: rows_of_form(plan, name, 0) for name in ("jatos-10", "jatos-9")}
    members = {form.format(name[6:], 1): as_text(rows[name]) for name in rows}
    path = write_results(tmp_path / "a.zip", {}, **members)
    assert pairs(read_archive(path)) == [("jatos-9", rows["jatos-9"]), ("jatos-10", rows["jatos-10"])]


def test_no_flipped_bit_of_an_archive_loses_a_participant(tmp_path: Path, plan: StudyPlan) -> None:
    """Every damage to a packed archive is refused, or changes nothing that is read."""
    rows = {name: rows_of_form(plan, name, 0) for name in ("p", "q")}
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, name in enumerate(rows):
            archive.writestr(f"study_result_{number}/comp_result_1/data.txt", as_text(rows[name]))
    whole, refused = path.read_bytes(), 0
    for bit in range(0, 8 * len(whole), 7):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            assert by_name(read_archive(path)) == rows, bit
        except SnellenError:
            refused += 1
    assert refused > len(whole) / 2


@pytest.mark.parametrize("file", ["study.json", "bundle/plan.json"])
@pytest.mark.parametrize("raw", [b"\xff{}", b"[1]", b"null", b"{}", b'{"study": 1, "pages": {"a": 5}}'])
def test_a_damaged_study_is_refused_in_a_line(tmp_path: Path, file: str, raw: bytes) -> None:
    write_study(tmp_path)
    (tmp_path / file).write_bytes(raw)
    with pytest.raises(SnellenError, match="again") as error:
        read_plan(tmp_path)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300 + len(str(tmp_path))


def test_of_rows_with_one_number_the_first_counts(
    tmp_path: Path, plan: StudyPlan, caplog: pytest.LogCaptureFixture
) -> None:
    """Equal rows that were sent twice are not reported, other ones are."""
    rows = rows_of_form(plan, "p", 0)
    texts = {(1, 1): as_text([*rows[:3], rows[2], *rows[1:4]]), (1, 2): as_text(rows)}
    assert by_name(read_archive(write_results(tmp_path / "a.zip", texts))) == {"p": rows}
    assert not caplog.messages
    texts = {(1, 1): as_text([*rows[:4], RecordRow(sequence=3, record=rows[4].record), *rows[4:]])}
    path = write_results(tmp_path / "a.zip", texts)
    assert by_name(read_archive(path)) == {"p": rows}
    (message,) = caplog.messages
    assert message == f"{path}: study_result_1: p: rows left out: 1 (other content under a number that was there)"


def test_a_torn_last_line_is_left_out_and_counted(
    tmp_path: Path, plan: StudyPlan, caplog: pytest.LogCaptureFixture
) -> None:
    rows, other = rows_of_form(plan, "p", 0), rows_of_form(plan, "q", 1)
    torn = as_text(rows)[:-20]
    path = tmp_path / "p.jsonl"
    path.write_text(torn, "utf-8")
    assert pairs(read_folder([path])) == [("p", rows[:-1])]
    assert caplog.messages == [f"{path}: p: rows left out: 1 (torn last line)"]
    path.write_text(torn + "\n" + as_text(other), "utf-8")
    assert pairs(read_folder([path])) == [("p", rows[:-1]), ("q", other)]
    path.write_text(torn + as_text(other), "utf-8")  # half a row and a whole one on one line
    first = next(iter(read_folder([path])))
    assert [row for row in first.rows if isinstance(row, BadLine)] == [
        BadLine(12, "The line was changed: its checksum is that of other content.")
    ]


def test_a_name_adds_no_line_to_a_warning(tmp_path: Path, plan: StudyPlan, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(as_text(rows_of_form(plan, "a\nsnellen: all is well", 0))[:-20], "utf-8")
    pairs(read_folder([path]))
    assert caplog.messages == [f"{path}: a snellen: all is well: rows left out: 1 (torn last line)"]


def test_a_file_cut_anywhere_loses_only_the_torn_row(tmp_path: Path, plan: StudyPlan) -> None:
    rows = rows_of_form(plan, "p", 0)
    text = as_text(rows).encode()
    path = tmp_path / "p.jsonl"
    ends = [number for number, byte in enumerate(text) if byte == ord("\n")]
    for length in range(ends[0] + 1, len(text), 97):
        whole = text[:length].decode("utf-8", "ignore")
        path.write_text(whole, "utf-8")
        (submission,) = read_folder([path])
        assert list(submission.rows) == rows[: sum(end <= length for end in ends)]


def test_lines_are_compared_with_their_checksums(tmp_path: Path, plan: StudyPlan) -> None:
    """A flipped bit is seen in every line; rows of older pages have no checksums, unless others of the file have."""
    rows = rows_of_form(plan, "p", 0)
    lines = as_text(rows).splitlines(keepends=True)
    path = tmp_path / "p.jsonl"
    path.write_text("".join([*lines[:3], lines[3].replace('"seconds":1.25', '"seconds":1.24'), *lines[4:]]), "utf-8")
    (submission,) = read_folder([path])
    changed = BadLine(4, "The line was changed: its checksum is that of other content.")
    assert list(submission.rows) == [changed, *rows[:3], *rows[4:]]
    plain = "".join(f"{row.model_dump_json()}\n" for row in rows)
    path.write_text(plain, "utf-8")
    assert pairs(read_folder([path])) == [("p", rows)]
    path.write_text("".join([*lines[:3], plain.splitlines(keepends=True)[3], *lines[4:]]), "utf-8")
    (submission,) = read_folder([path])
    assert submission.rows[0] == BadLine(4, "The line has no checksum, but others have.")
    path.write_text("".join(lines), "utf-8-sig")
    assert pairs(read_folder([path])) == [("p", rows)], "an editor's mark before the first line is passed over"


def test_results_that_an_archive_lists_and_lacks_are_named(tmp_path: Path, plan: StudyPlan) -> None:
    """As JATOS lists them: study results with component results, and the size of their data."""
    metadata = listed((1, 512), (2, 300), (3, 0))
    path = write_results(tmp_path / "a.zip", {(1, 1): as_text(rows_of_form(plan, "p", 0))}, metadata)
    first, second = read_archive(path)
    assert first.name == "p"
    reloaded = metadata.replace('[{"id": 2,', '[{"id": 9, "data": {"size": 0}}, {"id": 2,')
    assert reloaded != metadata
    texts = {(1, 1): as_text(rows_of_form(plan, "p", 0))}
    assert len(list(read_archive(write_results(tmp_path / "b.zip", texts, reloaded)))) == 2, "one of two has data"
    assert (second.name, second.source) == ("study_result_2", f"{path}: study_result_2")
    (line,) = second.rows
    assert isinstance(line, BadLine)
    assert "its data are missing" in line.reason


def test_a_component_that_is_listed_and_lacking_is_a_bad_line_of_its_person(tmp_path: Path, plan: StudyPlan) -> None:
    rows = rows_of_form(plan, "p", 0)
    metadata = listed((1, 512)).replace("}}]", '}}, {"id": 2, "data": {"size": 300}}]')
    for texts in ({(1, 1): as_text(rows[:5])}, {(1, 1): as_text(rows[:5]), (1, 2): ""}):
        (person,) = read_archive(write_results(tmp_path / "a.zip", texts, metadata))
        assert (person.name, person.rows[1:]) == ("p", tuple(rows[:5]))
        assert "a part of them" in getattr(person.rows[0], "reason", "")


def test_two_people_under_one_name_stay_separate(tmp_path: Path, plan: StudyPlan) -> None:
    first, second = rows_of_form(plan, "p", 0), rows_of_form(plan, "p", 1)
    export = tmp_path / "a.txt"
    export.write_text(as_text(first) + as_text(second), "utf-8")
    assert pairs(read_archive(export)) == [("p", first), ("p", second)]


def test_data_of_other_components_are_left_out_by_name(
    tmp_path: Path, plan: StudyPlan, caplog: pytest.LogCaptureFixture
) -> None:
    rows = rows_of_form(plan, "p", 0)
    texts = {(1, 1): as_text(rows), (2, 2): '{"rt": 512}\n', (3, 3): ""}
    with caplog.at_level(logging.WARNING):
        assert by_name(read_archive(write_results(tmp_path / "a.zip", texts))) == {"p": rows}
    assert caplog.messages == [f"{tmp_path / 'a.zip'}: study_result_2: no rows of a Snellen study; left out"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, "leaves the archive") for name in ("../evil.txt", "study_result_1/../../evil", "a\\b")),
        ("study_result_01/comp-result_1/data.txt", "are the same result"),  # else the second would replace the first
    ],
)
def test_other_names_in_an_archive_are_refused(tmp_path: Path, plan: StudyPlan, name: str, message: str) -> None:
    archive = write_results(tmp_path / "a.zip", {(1, 1): as_text(rows_of_form(plan, "p", 0))}, **{name: "x"})
    with pytest.raises(SnellenError, match=message):
        pairs(read_archive(archive))


@pytest.mark.parametrize("limit", ["MAX_MEMBERS", "MAX_TOTAL_BYTES"])
def test_archives_have_limits(tmp_path: Path, plan: StudyPlan, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = write_results(tmp_path / "a.zip", {(1, 1): as_text(rows_of_form(plan, "p", 0))})
    monkeypatch.setattr(jatos, limit, 1)
    with pytest.raises(SnellenError, match=r"more than 1|over 1 bytes"):
        pairs(read_archive(archive))


def test_the_components_of_one_result_share_a_limit(
    tmp_path: Path, plan: StudyPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = as_text(rows_of_form(plan, "p", 0))
    monkeypatch.setattr(jatos, "MAX_FILE_BYTES", len(text) + 10)
    assert len(pairs(read_archive(write_results(tmp_path / "two.zip", {(1, 1): text, (2, 1): text})))) == 2
    texts = {(1, 1): text, (1, 2): text, (2, 1): text}
    first, second = read_archive(write_results(tmp_path / "one.zip", texts))
    assert first.rows == (BadLine(0, f"The result has more than {len(text) + 10} bytes."),)
    assert list(second.rows) == rows_of_form(plan, "p", 0), "it stops nobody else"


def test_a_result_has_at_most_so_many_rows(tmp_path: Path, plan: StudyPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of_form(plan, "p", 0)
    monkeypatch.setattr(jatos, "MAX_ROWS", 3)
    (submission,) = read_archive(write_results(tmp_path / "a.zip", {(1, 1): as_text(rows)}))
    assert [row for row in submission.rows if isinstance(row, RecordRow)] == rows[:3]
    assert any("more than 3 rows" in row.reason for row in submission.rows if isinstance(row, BadLine))


def test_a_start_that_nothing_followed_is_no_other_person(tmp_path: Path, plan: StudyPlan) -> None:
    """A page that was reloaded before its first answers were saved begins anew."""
    rows = rows_of_form(plan, "p", 0)
    alone = as_text([replace_start(rows[0], "aaaa-1111")])
    texts = {(1, 1): alone, (1, 2): as_text(rows), (2, 3): alone}
    first, second = read_archive(write_results(tmp_path / "a.zip", texts))
    assert (list(first.rows), len(second.rows)) == (rows, 1)


def test_nobody_continues_somebody_else_in_a_text_export(tmp_path: Path, plan: StudyPlan) -> None:
    """Names can be guessed; whoever returns has the code of their first start."""
    first = [replace_start(row, "aaaa-1111") if row.sequence == 0 else row for row in rows_of_form(plan, "jatos-1", 0)]
    unfinished, rest = first[:3], first[3:]
    again = RecordRow(sequence=3, record=first[0].record.model_copy(update={"code": "bbbb-2222"}))
    taken_over = [again, *(RecordRow(sequence=row.sequence + 1, record=row.record) for row in rest)]
    path = tmp_path / "a.txt"
    path.write_text(as_text(unfinished) + as_text(taken_over), "utf-8")
    honest, other = read_archive(path)
    assert list(honest.rows) == unfinished
    assert list(other.rows) == taken_over


@pytest.mark.parametrize("number", ["1e999", "9" * 5000, "[" * 5000, "1" + " " * 2**23])
def test_a_listed_number_that_is_none_is_named(
    tmp_path: Path, plan: StudyPlan, number: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows = rows_of_form(plan, "p", 0)
    metadata = listed((12345, 1)).replace("12345", number)
    path = write_results(tmp_path / "a.zip", {(1, 1): as_text(rows)}, metadata)
    assert by_name(read_archive(path)) == {"p": rows}
    assert caplog.messages == [f"{path}: metadata.json lists no results that can be compared"]


def test_one_result_is_of_one_person(tmp_path: Path, plan: StudyPlan, caplog: pytest.LogCaptureFixture) -> None:
    texts = {(1, 1): as_text(rows_of_form(plan, "p", 0)) + as_text(rows_of_form(plan, "q", 1))}
    path = write_results(tmp_path / "a.zip", texts)
    first, second = read_archive(path)
    assert list(first.rows) == rows_of_form(plan, "p", 0)
    (line,) = second.rows
    assert (second.name, isinstance(line, BadLine)) == ("q", True), "this one is refused"
    assert caplog.messages == [f"{path}: study_result_1: rows of 2 people; one result is of one person"]


@pytest.mark.parametrize("kind", ["form", "torn start", "torn start and rows"])
def test_what_stands_before_the_start_in_a_result_is_bad_lines_of_its_person(
    tmp_path: Path, plan: StudyPlan, kind: str
) -> None:
    """Another component's data, and a start that a reload repeats; of a torn start the rows have nobody."""
    rows = rows_of_form(plan, "p", 0)
    torn = as_text(rows[:1])[:120]
    before = {"form": "age=30", "torn start": torn, "torn start and rows": f"{torn}\n{as_text(rows[1:3])}"}[kind]
    path = write_results(tmp_path / "a.zip", {(1, 1): before, (1, 2): as_text(rows)})
    (submission,) = read_archive(path)
    assert [row for row in submission.rows if isinstance(row, RecordRow)] == rows
    bad_lines = [row for row in submission.rows if isinstance(row, BadLine)]
    assert len(bad_lines) == {"form": 1, "torn start": 0, "torn start and rows": 3}[kind]
    accepted, refused = admit(submission, plan, leave_out=True)
    assert (accepted, len(refused)) == (rows, len(bad_lines)), "--skip-bad leaves out these lines alone"


def test_unreadable_lines_and_missing_results_are_counted_up_to_a_limit(
    tmp_path: Path, plan: StudyPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of millions of lines takes no more time or memory than one of a thousand."""
    text = as_text(rows_of_form(plan, "p", 0)[:1]) + "{}\n" * 2_000_000
    (submission,) = read_archive(write_results(tmp_path / "a.zip", {(1, 1): text}))
    assert len(submission.rows) == jatos.MAX_BAD_LINES + 2
    assert any("left out" in row.reason for row in submission.rows if isinstance(row, BadLine))
    monkeypatch.setattr(jatos, "MAX_BAD_LINES", 3)
    metadata = listed(*((n, 1) for n in range(1, 11)))
    path = write_results(tmp_path / "b.zip", {(1, 1): as_text(rows_of_form(plan, "p", 0))}, metadata)
    submissions = list(read_archive(path))
    assert len(submissions) == 1 + 3 + 1
    (line,) = submissions[-1].rows
    assert isinstance(line, BadLine)
    assert "6 more results" in line.reason


def test_a_long_line_or_list_is_no_row(plan: StudyPlan) -> None:
    row = rows_of_form(plan, "p", 0)[2].plain()
    row["record"]["answers"] = {"a": [{}] * 1000}
    assert parse_line(json.dumps(row)) == "The line is not a row of results."
    row["record"]["answers"] = {"a": "x" * MAX_LINE}
    assert parse_line(json.dumps(row)) == f"The line has more than {MAX_LINE} characters."


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    """Others may have no end, or wait for a writer."""
    (tmp_path / "a.zip").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "b.zip")
    os.mkfifo(tmp_path / "c.jsonl")
    for name in ("a.zip", "b.zip"):
        with pytest.raises(SnellenError, match="no plain file"):
            list(read_archive(tmp_path / name))
    with pytest.raises(SnellenError, match="no plain file"):
        list(read_folder([tmp_path]))


def test_many_starts_of_one_name_take_linear_time(tmp_path: Path, plan: StudyPlan) -> None:
    start = rows_of_form(plan, "p", 0)[0]
    assert isinstance(start.record, Start)

    def seconds(count: int) -> float:
        starts = [replace_start(start, code=f"code-{number}") for number in range(count)]
        path = tmp_path / f"{count}.txt"
        path.write_text(as_text(starts), "utf-8")
        gc.disable()  # a collection takes as long as everything that the other tests left in memory
        begin = time.process_time()
        try:
            assert len(as_participants((person.name, rows_in(person)) for person in read_archive(path))) == count
            return time.process_time() - begin
        finally:
            gc.enable()

    seconds(100)
    fewer = max(seconds(200) for _ in range(3))
    assert min(seconds(6400) for _ in range(2)) < 180 * fewer, "32 for linear, 1024 for quadratic time"


def replace_start(row: RecordRow, code: str) -> RecordRow:
    return RecordRow(sequence=0, record=row.record.model_copy(update={"code": code}))


def rows_in(submission: Submission) -> list[RecordRow]:
    return [row for row in submission.rows if isinstance(row, RecordRow)]


def test_files_that_are_not_archives_are_refused(tmp_path: Path, plan: StudyPlan) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04 and nothing more \xff")
    with pytest.raises(SnellenError, match="not readable"):
        pairs(read_archive(path))
    for name in ("other.txt", f"study_result_{'9' * 5000}/comp_result_1/data.txt"):
        with pytest.raises(SnellenError, match="no result data"):
            pairs(read_archive(write_results(path, {}, **{name: "x"})))
    write_results(path, {(1, 1): as_text(rows_of_form(plan, "p", 0))})
    raw = bytearray(path.read_bytes())
    raw[100] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(SnellenError, match="not readable"):
        pairs(read_archive(path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(SnellenError, match="no results"):
        pairs(read_folder([tmp_path / "empty"]))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_than_jatos_s_are_refused_unread(tmp_path: Path, method: int) -> None:
    """Of them, no part of a member can be read alone: a kilobyte may be a gigabyte."""
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("study_result_1/comp_result_1/data.txt", b"x" * 10_000_000)
    with pytest.raises(SnellenError, match="compressed as JATOS does not"):
        pairs(read_archive(path))


def test_an_empty_file_in_a_folder_stops_nobody(
    tmp_path: Path, plan: StudyPlan, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "p.jsonl").write_text(as_text(rows_of_form(plan, "p", 0)))
    for name in ("o", "q"):
        (tmp_path / f"{name}.jsonl").write_text("\n")
    assert [name for name, _ in pairs(read_folder([tmp_path]))] == ["p"]
    assert ["o.jsonl: empty" in caplog.text, "q.jsonl: empty" in caplog.text] == [True, True]


def test_answers_may_contain_any_line_separator(tmp_path: Path, plan: StudyPlan) -> None:
    rows = rows_of_form(plan, "p", 0)
    record = rows[2].plain()["record"] | {"reasons": {"item-choice": "one\u2028two\u0085three\x0bfour\r\nfive"}}
    rows[2] = RecordRow.model_validate({"sequence": 2, "record": record})
    path = tmp_path / "p.jsonl"
    path.write_text(as_text(rows), "utf-8", newline="\n")
    assert pairs(read_folder([path])) == [("p", rows)]


def test_a_name_of_a_megabyte_does_not_stand_beside_every_refused_row(tmp_path: Path, plan: StudyPlan) -> None:
    texts = {(n, 1): as_text(rows_of_form(plan, n * "x", 0)) for n in (1000, 1001)}
    assert [person.name for person in read_archive(write_results(tmp_path / "a.zip", texts))] == [
        1000 * "x",
        "a",
    ]
