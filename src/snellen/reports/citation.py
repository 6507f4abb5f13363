"""What a paper about a run needs: BibTeX of Snellen and of the suites' papers, and a methods paragraph.

The reference of a suite is one line of its card, `AUTHORS. TITLE. VENUE` or `TITLE (REMARK)`; BibTeX is made from it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from snellen.analysis.tables.run_view import arm_name, examined
from snellen.analysis.tables.section import Run, protocol_of
from snellen.core.storage.run_digest import RunDigest, read_digest
from snellen.core.storage.runfolder import recorded_subjects
from snellen.core.storage.seal import SEALED
from snellen.core.storage.versions import versions
from snellen.core.suite import SuiteCard
from snellen.reports.loading import Exam
from snellen.reports.words import rate

FILE = "citation.bib"
"""Name of the BibTeX file in a report."""
_PAPER = re.compile(
    r"(?:(?P<authors>[^.:]+(?: et al)?)\. )?(?P<title>.+?)"
    r"(?:\. (?P<venue>[^.()]+(?:\.\d+)?))?(?: \((?P<remark>[^()]*)\))?"
)
_ARXIV = re.compile(r"arXiv:((\d\d)\d\d\.\d+)")
_CAPITALS = re.compile(r"\b(?=\w*[A-Z²]\w*[A-Z²])[\w²]+(?:-\w+)*")
"""Words whose capitals BibTeX would lower."""


@dataclass(frozen=True)
class Citation:
    """BibTeX entries by key, Snellen's first, and a methods paragraph for each exam."""

    entries: dict[str, str]
    methods: tuple[str, ...]

    @property
    def bibtex(self) -> str:
        """All entries as the text of a file."""
        return "\n".join(self.entries.values())


def citation(exams: Iterable[Exam]) -> Citation:
    """The citation of a report about these exams."""
    fields = {"title": "{Snellen}: an eye exam for machines that see", "author": "{The Snellen authors}"}
    entries = {"snellen": _entry("software", "snellen", fields | {"version": versions()["snellen"]})}
    methods, described = [], set[str]()
    for exam in exams:
        key, entry = paper_entry(exam.joined.suite.card)
        entries |= {key: entry} if key else {}
        methods.append(methods_paragraph(exam, key, described))
    return Citation(entries, tuple(methods))


def paper_entry(card: SuiteCard) -> tuple[str, str]:
    """Key and BibTeX entry of a suite's paper; both empty if the suite follows none."""
    match = _PAPER.fullmatch(" ".join(card.paper.split()))
    if card.paper.partition(";")[0] == "none" or match is None:
        return "", ""
    parts = {name: text or "" for name, text in match.groupdict().items()}
    surnames = [name.strip() for name in parts["authors"].removesuffix(" et al").split(",") if name.strip()]
    arxiv = _ARXIV.search(parts["venue"])
    years = re.findall(r"\b(?:19|20)\d\d\b", f"{parts['venue']} {parts['remark']}")
    year = f"20{arxiv[2]}" if arxiv else next(iter(years), "")
    venue = "" if arxiv else re.sub(r"\W*\b(?:19|20)\d\d\b", "", parts["venue"])
    remark = "" if parts["remark"] == year else parts["remark"]
    fields = {
        "title": _CAPITALS.sub(lambda word: f"{{{word[0]}}}", parts["title"].replace("²", "$^2$")),
        "author": " and ".join([*surnames, *(["others"] if parts["authors"].endswith(" et al") else [])]),
        "booktitle": venue,
        "year": year,
        "eprint": arxiv[1] if arxiv else "",
        "archiveprefix": "arXiv" if arxiv else "",
        "note": remark,
    }
    first = unicodedata.normalize("NFKD", surnames[0] if surnames else "").encode("ascii", "ignore").decode()
    key = re.sub(r"[^a-z0-9]", "", f"{first}{year}{card.name}".lower())
    return key, _entry("inproceedings" if venue else "misc", key, fields)


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = "".join(f"  {name} = {{{text}}},\n" for name, text in fields.items() if text)
    return f"@{kind}{{{key},\n{lines}}}\n"


def methods_paragraph(exam: Exam, paper: str = "", described: set[str] | None = None) -> str:
    """How the exam was done, in sentences with BibTeX keys in brackets; every number is taken from its runs.

    Settings of subjects that earlier paragraphs have `described` are left out; those of this one are added there.
    """
    run = exam.joined
    sentences = [
        _examination(run, paper, set() if described is None else described),
        _item_set(run),
        *_conditions(run),
        *_reading(run),
    ]
    sentences.append(
        "Scores are given with 95 % confidence intervals that respect clusters of items about one object or scene, and "
        "are compared with chance and with the blind baseline, the best score of attackers that see no image."
    )
    roots = [part.root for part in exam.runs]
    digests = [read_digest(root).total for root in roots if (root / RunDigest.file).is_file()]
    if digests:
        sentences.append(f"Digest of the {'run' if len(digests) == 1 else 'runs'}: {', '.join(digests)}.")
    return " ".join(sentences)


def _examination(run: Run, paper: str, described: set[str]) -> str:
    version = run.card.versions.get("snellen", "")
    items = {response.item_id: response.task for response in run.responses}
    counts = Counter(items.values())
    tasks = ", ".join(f"{counts[task]} of {task}" for task in run.suite.tasks if counts[task])
    full = _subjects(run)
    subjects = [name if text in described else text for name, text in full.items()]
    described |= set(full.values())
    return (
        f"We examined {_listed(subjects)} with Snellen {version} [snellen] on {len(items)} test items of "
        f"{run.suite.card.title}, version {run.card.version}{f' [{paper}]' if paper else ''}: {tasks}."
    ).replace("  ", " ")


def _subjects(run: Run) -> dict[str, str]:
    """The examined subjects with their settings, by name."""
    settings = {arm.subject: arm.settings for arm in examined(run, run.card.arms)}
    return {
        name: f"{name} ({', '.join(f'{key} {value}' for key, value in chosen.items())})" if chosen else name
        for name, chosen in settings.items()
    }


def _item_set(run: Run) -> str:
    card = run.items.card
    recipe = card.recipe
    origin = f'The items were made by the recipe "{card.source}"'
    if SEALED in recipe:
        origin += f" from a secret seed, sealed with the commitment {recipe[SEALED]}"
    elif "seed" in recipe:
        origin += f" from seed {recipe['seed']}"
    match recipe.get("renderer"), recipe.get("size_px"), card.provenance.get("render", {"versions": {}}):
        case str(renderer), [width, height], {"versions": {**versions}}:
            version = versions.get(renderer, "")
            quality = f", quality {recipe['quality']}" if "quality" in recipe else ""
            origin += f", with images of {width} x {height} pixels by {renderer} {version}".rstrip() + quality
    return f"{origin} (rows hash {card.rows_hash or card.content_hash})."


def _conditions(run: Run) -> list[str]:
    recorded = recorded_subjects(run.card)
    if len(recorded) == len({arm.subject for arm in run.card.arms}):
        return ["Their answers were recorded elsewhere; what they were asked is not known to Snellen."]
    conditions = list(dict.fromkeys(arm.condition for arm in run.card.arms))
    repeats = 1 + max((arm.repeat for arm in run.card.arms), default=0)
    sentences = [
        f"They were asked under the {'condition' if len(conditions) == 1 else 'conditions'} {_listed(conditions)}"
    ]
    sentences[0] += f", {repeats} times each." if repeats > 1 else "."
    if recorded:
        sentences.append(f"The answers of {_listed(recorded)} were recorded elsewhere.")
    if run.card.limit is not None:
        sentences.append(f"Only the first {run.card.limit} test items of each task were asked.")
    if decided := sorted({arm.decide for arm in run.card.arms if arm.decide not in ("", "look")}):
        sentences.append(
            f"Each task was asked only until its result was decided ({', '.join(decided)}); intervals are confidence "
            "sequences, which hold whenever asking ends."
        )
    if any(arm.decide == "look" for arm in run.card.arms):
        sentences.append(
            "Scores of encoders and simulated subjects were looked at after planned numbers of items; the intervals of "
            "all looks at a score hold together with 95 %."
        )
    return sentences


def _reading(run: Run) -> list[str]:
    rows = run.scores[protocol_of(run)].drop_duplicates(["subject", "condition", "repeat", "item_id"])
    arms = {arm_name(arm.subject, arm.condition) for arm in examined(run, run.card.arms)}
    is_counted = [arm_name(*pair) in arms for pair in zip(rows["subject"], rows["condition"], strict=True)]
    counts = Counter(rows[is_counted]["outcome"])
    unread, cut, failed = counts["no_answer"], counts["cut_off"], counts["failed"]
    replies = counts["answered"] + unread + cut
    sentences = []
    if replies:
        sentences.append(
            "Replies were read by one rule-based parser; a reply that could not be read got the worst score of its "
            f"metric ({unread} of {replies} replies, {rate(unread / replies)})."
        )
    if cut:
        sentences.append(f"{cut} replies were cut off at the token limit and got the worst score, too.")
    if failed:
        sentences.append(f"{failed} calls failed and are not scored.")
    return sentences


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else "nothing"
