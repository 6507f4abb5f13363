"""The structure of the package: the files of a suite, and names that are defined in one place."""

from __future__ import annotations

import re
import runpy
from collections.abc import Mapping
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "snellen"
SUITES = [folder for folder in sorted((SOURCE / "suites").iterdir()) if (folder / "tasks.py").is_file()]
MAX_MODULES, MAX_FILES, MAX_FILES_OF_MANY = 15, 15, 20
MANY = ("abilities", "curated", "choices")
"""Folders with one file per ability, and with the data of choices."""


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file() and path.suffix != ".pyc"]


@pytest.mark.parametrize("suite", SUITES, ids=lambda folder: folder.name)
def test_a_suite_has_the_standard_files(suite: Path) -> None:
    assert {"suite.yaml", "README.md", "paper.yaml"} <= {path.name for path in _files(suite)}
    assert {"tasks.py", "prompts.py", "scoring.py", "published.py"} <= {path.name for path in _files(suite)}
    modules = [path for path in _files(suite) if path.suffix == ".py" and path.stem != "__init__"]
    assert len(modules) <= MAX_MODULES, sorted(path.name for path in modules)
    for recipe in ("generated", "curated", "released"):
        assert not (suite / recipe).is_dir() or (suite / recipe / "recipe.py").is_file()
    assert (suite / "report" / "sections.py").is_file()


@pytest.mark.parametrize("suite", SUITES, ids=lambda folder: folder.name)
def test_folders_of_a_suite_are_small(suite: Path) -> None:
    for folder in [suite, *(path for path in suite.rglob("*") if path.is_dir() and path.name != "__pycache__")]:
        limit = MAX_FILES_OF_MANY if folder == suite or folder.name in MANY else MAX_FILES
        assert len(_files(folder)) <= limit, folder


def test_what_a_subject_is_does_not_follow_from_its_name() -> None:
    """Only the registry reads the kind in a spec, and `kind_by_name` that of a name in a run of an earlier version."""
    kinds = "fake|human|recorded|inspect|head|encoder|chat|tower|py"
    prefix = re.compile(rf"""startswith\(\(?["'](?:{kinds}):|partition\(":"\)\[0\] ==""")
    places = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if prefix.search(path.read_text())}
    assert places == {"subjects/registry.py"}


BUDGETS: Mapping[str, int] = {
    ".": 130, "analysis": 6440, "cli": 2470, "compute": 590, "core": 5600, "curated_sets": 13_120, "curation": 1065,
    "datasets": 2135, "exam": 3305, "interop": 3180, "presentation": 420, "reports": 4445, "runs": 3300,
    "scoring": 4360, "stimuli": 3715, "subjects": 5870, "suites": 22_885, "towers": 6370, "web": 5220, "src": 98_612,
    "tests": 94_050, "commands": 40, "options": 236, "long functions": 0, "long modules": 0, "words of docs": 87_385,
}  # fmt: skip
"""The most of each count of `scripts/counts.py`. Whoever raises one says here what the addition replaces.

`exam` has 250 lines more and `core` 100 since a session, and options written once, replace parts of `cli` and `suites`.
`towers` and `web` have 60 and 80 more, which were `analysis.linear_probe` and `analysis.authenticity`. `suites` has 85
more since curation has modules of its own (`ava_bench/curated/abilities/`).
`core`, `src` and `tests` have 20, 50 and 325 more since cards state what names told in 60 places (`role`,
`source`). `src` has 45 more for longer import lines since `runs` and `analysis` have subfolders.
`analysis` and `reports` have 215 and 80 more since a row of results has a type, whose columns, grades and states are
explained once, for pages and docs; it replaces `Any` in 40 places. `compute` has 85 more since all sets of a checkup
are drawn by the same processes, instead of two new ones for each.
`exam`, `reports`, `runs`, `core`, `compute`, `cli`, `src` and `tests` have 245, 70, 40, 60, 25, 10, 415 and 220 more
since a checkup shows what it does and writes its page while it runs, in place of a count of items and 120 lines of
tables at the end, since sets on first use may lack training items, and since calls of POSIX stand in one module.
`reports`, `suites` and `web` have 60, 35 and 40 more since the explorer draws boxes, thresholds show their stimuli, and
tables are sorted; the chart of acuity and the explorer's own call in the command are gone. `web`, `reports` and `tests`
have 125, 105 and 180 more since studies give trials, debrief and take a No, and reports have one table for a paper, in
place of the table of subjects. `subjects` and `tests` have 305 and 190 more for a client of our own over httpx, which
replaces inspect_ai and openai for compatible servers; inspect_ai is an extra for the others.
`src` counts packages/sight too, whose modules were in `exam`, `scoring`, `subjects` and `suites`; it has 1,900 more for
the command that needs nothing else, for points, sequences and any order of images in place of six listed orders, and
for sets whose first items are asked while the others are drawn. `analysis`, `interop` and `options` have 550, 265 and
one more for `diff` of other tools' logs, which before took our own runs alone; the copied parser of exports is gone.
`suites`, `presentation` and `web` have 80, 45 and 15 more for points as answers and the threshold of pointing. Docs
have 800 words more for these and their measurements, after the pages on speed became shorter. `datasets`, `subjects`
and `suites` have 65, 65 and 100 more since tables, images, labels and folders of encoders that were read wrongly are
read or refused; 80 more lines and an option are for videos in own tables, tables in UTF-16, an image processor by name,
and studies in a panel's frame. `suites`, `analysis`, `scoring`, `core`, `reports`, `subjects` and `src` have 900, 225,
175, 95, 165, 100 and 1,950 more for thresholds on own images, items that do not tell their answers by colour, ink or
memory, planned looks, one table per paper and `reproduce`, which replace prose of docs and tables of four suites.
`core` and `stimuli` have ten more each for functions that five modules of other parts had copied.
`core`, `interop`, `subjects`, `suites`, `web` and `tests` have 20, 30, 35, 20, 5 and 760 more for names of images that
join answers, rows of several filters, adapters without a base, and kinds of image on which a threshold depends; `src`
has 820 more, of which 705 train phantoms. Docs have 320 words more for these.
`curated_sets` and `towers` have what `suites`, `datasets`, `subjects` and `cli` had. `core`, `interop`, `runs`, `web`,
`src`, `tests` and `options` have 60, 65, 105, 25, 600, 1,100 and one more for the check of one's own readings,
questions about marked things at all sizes, our runs beside other tools' logs, forms of four more tools, and keys in any
form; a second rule of image tokens is gone. Docs have 370 words more for these.
`exam`, `reports`, `analysis`, `cli`, `src` and `tests` have 85, 55, 15, 10, 360 and 200 more since small trained models
take part in a checkup, which other packages may add to, and since the front page names what other subjects hardly see.
They replace the claim that no trained model was examined. Docs have 650 words more for what these models score.
`suites`, `subjects`, `src` and `tests` have 40, 10, 55 and 140 more since encoders learn at full size and misses of yes
and no are counted apart.
`cli`, `core`, `exam`, `reports`, `runs`, `web`, `src` and `tests` have 25, 30, 55, 10, 10, 15, 135 and 205 more since
`verify` compares blind scores, numbers of items, prompts, fingerprints, hashes on the card and the printed table, a
report overwrites nothing else, and a server without files to open keeps its log short; functions that only tests used
are gone. Twelve places share one key of arms.
`core`, `exam`, `datasets`, `stimuli`, `curated_sets` and `tests` have 130, 90, 5, 15, 5 and 430 more since tables are
read within a limit of memory, images by one function and videos of listed formats alone, keys are taken out of
replies, and `verify` finds answers that were left out and verdicts of judges that do not follow. The copy of the
printed table, forms of earlier versions and 150 lines said twice are gone, heads have 250 lines less, and `src` 150.
`analysis`, `core`, `exam`, `runs`, `datasets`, `curated_sets`, `towers`, `cli`, `src` and `tests` have 35, 35, 20, 15,
5, 5, 15, 5, 145 and 515 more since subjects that learn are asked once for each draw of training items, so that
intervals of thresholds cover both, since declarations, columns, checkpoints and pipes of strangers are refused in a
line, and since 31 mutants that lived have a test each.
URLs and the Ray executor are gone, 700 lines. `core`, `datasets`, `stimuli`, `suites`, `src` and `tests` have 65, 10,
5, 20, 95 and 125 of them back since JSON, lists and lines of tables are counted before they are read.
`core` and `src` have 40 and 25 more since values that take no bytes in a file are read within a limit of memory.
`tests` has 7,800 more: eight readers made about 1,700 faults, and those that lived, at least 230, have a test.
`core`, `exam`, `runs`, `stimuli`, `curated_sets`, `towers`, `web`, `src` and `tests` have 15, 5, 5, 25, 50, 25, 60, 220
and 725 more since no path of a stranger leads out of its folder, nothing is written through links, and databases,
recipes, volumes, lists and checkpoints of strangers are read within limits.
`curated_sets` and `towers` have 1,365 and 180 more, which nothing else used: 755 lines of `datasets`, 330 of
`curation`, 230 of `subjects`, 170 of `suites` and 40 of `runs`. `src` and `tests` have 40 and 55 more for imports.
`core`, `datasets`, `subjects`, `web` and `tests` have 55, 10, 15, 25 and 480 more since links out of strangers'
folders, databases, archives and designs of studies are refused or bounded, odd facts of sets, runs and logs are a
line, and for faults that lived; `diff --decide` and exports for Inspect are gone, 330 lines.
`curated_sets` has 3,695 more, which `suites` and `curation` lost: the rules of selection of AVA-Bench, and its `own`.
`analysis`, `cli`, `interop`, `reports`, `web`, `src` and `tests` have 35, 15, 15, 10, 55, 137 and 1,100 more since
`diff` misses no task or threshold that one side lacks, exports and reports keep two names apart, receipts of removals
say where they did not look, JATOS results may begin with other lines, and for options and 50 faults that lived.
`scoring` and `reports` have 25 and 5 more since powers of ten and answers set aside are read, and figures have the same
bytes in every process. `web`, `analysis`, `core`, `runs` and `tests` have 25, 10, 5, 5 and 300 more since reviews know
whom they asked, runs on other rows of one declaration are told apart, and for faults that lived. `src` has 160 less:
lists that fit on a line stand on one. `tests` has 6,600 more: goldens of all calls, exports, datasets and of a session
of commands, and tables of cases for functions that faults were drawn for. `web` and `core` have 20 and 15 more since a
study says how many images carry metadata, people are never imported into a run of models, planned looks rise, and names
of items have limits. `analysis`, `core` and `interop` have 20, 30 and 5 more since forged cards of sets are compared by
their questions, no box of a sealed set hides another, and levels, lists in cells and samples of logs are bounded.
`core` and `subjects` have 5 and 15 more since recorded answers are bound to a seed, and `datasets` 5 since a key given
twice in a streamed object is refused; `cli`, `interop` and `reports` have 15 less. `tests` has 50 more for faults that
fresh readers drew; one module writes all goldens.
"""


def test_the_project_keeps_its_budgets() -> None:
    counts = runpy.run_path(str(SOURCE.parents[1] / "scripts" / "counts.py"))["counts"]()
    assert counts.keys() == BUDGETS.keys()
    above = [f"{name}: {count} of {BUDGETS[name]}" for name, count in counts.items() if count > BUDGETS[name]]
    assert not above, "delete more than you add, or raise BUDGETS and say beside it what the addition replaces"
