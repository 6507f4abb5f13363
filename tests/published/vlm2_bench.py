"""Printed numbers of VLM2-Bench recomputed from others: averages, distances, chance, counts and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from snellen.scoring.metrics import expected_acc_num
from snellen.suites.vlm2_bench.published import (
    CAMERA_READY,
    CHANCE,
    COLUMNS,
    FINDING_III_MODELS,
    HUMAN,
    PAIRS,
    PEOPLE_ABOVE_OBJECTS,
    QUERIES,
    SCORED_PAIRS,
    TABLE_1,
    Row,
)
from snellen.suites.vlm2_bench.sequences import PATTERNS_GRP, PATTERNS_OC, PC_COUNTS
from tests.published.derived import (
    DerivedNumber,
    PrintedNumber,
    Underivable,
    by_subject,
    count_row,
    everywhere,
    nearest_share,
)

CAMERA_READY_AVERAGES = {
    "LLaVA-OneVision-7B": 38.36,
    "LLaVA-Video-7B": 41.37,
    "LongVA-7B": 24.95,
    "mPLUG-Owl3-7B": 40.89,
    "Qwen2-VL-7B": 45.64,
    "Qwen2.5-VL-7B": 55.86,
    "InternVL2.5-8B": 45.73,
    "InternVL2.5-26B": 48.58,
    "GPT-4o": 59.56,
}
"""The averages in the camera-ready: means of the eight columns with a chance level, as the footnote states."""


def mean_of(scores: Sequence[float | None], columns: int) -> float:
    """The mean of the first 8 or 9 columns, in percent. Raises ValueError if one of them is not given."""
    given = [score for score in scores[:columns] if score is not None]
    if len(given) != columns:
        raise ValueError(f"only {len(given)} of {columns} columns are given")
    return sum(given) / columns


CAMERA_READY_HUMAN_GRP, CAMERA_READY_HUMAN_AVERAGE = 91.00, 94.44
"""Changed in the camera-ready: people in OC-Grp (91.92 before), and with it their average (mean of eight)."""
CAMERA_READY_CHANCE_DELTA = -61.44
"""Still printed there; 33.72 - 94.44 is -60.72."""
LENGTHS = {"oc-cnt": {2: 80, 3: 120, 4: 160}, "pc-cnt": {2: 30, 3: 25, 4: 65}}
"""Questions of Cnt by number of images (OC: appendix 4; PC: appendix D of the camera-ready)."""
PRINTED_FORMATS = {"true_false": 67.97, "choice": 9.81, "integer": 15.68, "description": 6.54}
"""Percent by format of answer in Figure 4; 300 and 480 of 3,060 are 9.80 and 15.69."""
TABLE_5_COUNTS = {"AA": 2, "AB": 1, "AAA": 3, "AAB": 2, "ABC": 3, "AAAA": 4, "AAAB": 2, "AABC": 3, "ABCD": 3}
"""The column `cnt` of Table 5, which counts neither objects nor letters; the chance levels need the letters."""

JUDGE_AGREED, JUDGE_CHECKED, JUDGE_RATE = 178, 180, 98.89
JUDGE_CHECKED_PER_MODEL, JUDGE_DISCREPANCIES = 20, 2
"""Section 3.1: verdicts of the judge that people shared, and their percentage."""
HUMAN_GAP = dict.fromkeys(("abstract", "introduction", "finding I", "conclusion"), 34.80)
"""The distance of GPT-4o behind people: printed as percent, but in points."""
BEST_VID, HUMAN_VID = 66.75, 100.0
"""Finding I: the best model in VID, and people."""
CAMERA_READY_TABLE_3_GRP = 47.50
"""Table 3 of the camera-ready (resolution): InternVL2.5-8B in OC-Grp as in Table 1, which has 46.50."""

SUBTASKS = {"abstract": 9, "introduction": 8, "section 2.4": 9, "section 3.3": 9, "Figure 4": 9}
"""The number of subtasks, by place in the paper."""
FINDINGS = {"abstract": 8, "introduction": 8, "conclusion": 8}
"""The number of announced findings, by place in the paper."""
FINDING_NUMERALS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
"""The findings of sections 3.3 and 4, by their headings."""
OPEN_MODELS = {"abstract": 8, "introduction": 8, "section 3.2": 8}
"""The number of open-source models evaluated, by place in the paper."""
OPEN_MODEL_NAMES = (
    "LLaVA-OneVision", "LLaVA-Video", "LongVA", "mPLUG-Owl3", "Qwen2-VL", "Qwen2.5-VL", "InternVL2.5",
)  # fmt: skip
"""Those that section 3.2 lists."""
QUESTIONS, MORE_QUESTIONS_THAN = 3060, 3000
"""Section 2.4 and appendix 2; "over 3,000" in abstract and introduction."""
TRUE_AND_FALSE = {"oc-cpr": (120, 240), "pc-cpr": (100, 100)}
"""Pairs whose images are of the same one, and of different ones (appendix 1)."""
SEQUENCES = {"oc": 360, "pc": 260}
"""Sequences of images (appendix 1, 4 and 5)."""
OBJECT_TYPES, OBJECTS_PER_TYPE, FIGURE_8_OBJECTS_PER_TYPE = 8, 5, 4
IMAGES_OF_AN_OBJECT, DISTRACTORS_OF_AN_OBJECT, OBJECT_IMAGES = 4, 4, 320
"""Appendix 4 and section 2.2; Figure 8 has four objects per type."""
RACES, GENDERS, PEOPLE_OF_EACH, IMAGES_OF_A_PERSON, PEOPLE_IMAGES = 3, 2, 5, 4, 120
"""Appendix 5."""


def computed_chance() -> dict[str, float]:
    """The score of uniform, independent guesses under the metrics of the paper, in percent, by task (without VID).

    A pair takes two guesses of one half, a group one of a quarter; for a count the truth, too, is taken as uniform.
    """
    chance = dict.fromkeys(COLUMNS[:8], 25.0)
    for task, lengths in LENGTHS.items():
        chance[task] = 100 * sum(n * expected_acc_num(length) for length, n in lengths.items()) / sum(lengths.values())
    return chance


UNITS = {**SCORED_PAIRS, "oc-grp": QUERIES["oc-grp"], "pc-grp": QUERIES["pc-grp"]}
"""Tasks that score units right or wrong, and their numbers of units."""
VID_STEP = 0.25
"""Half a point of two over a hundred videos, in percent: the smallest step of VID."""


def _scores(row: Row) -> dict[str, float]:
    return {task: score for task, score in zip(COLUMNS, row.scores, strict=True) if score is not None}


def _everyone() -> dict[str, Row]:
    return {**TABLE_1, "people": HUMAN}


def _averages() -> Iterator[PrintedNumber]:
    rows = _everyone()
    averages = {name: row.average for name, row in rows.items()}
    nine = {name: mean_of(row.scores, 9) for name, row in rows.items()}
    yield from by_subject("Table 1", "Average: mean of all nine columns", averages, nine, 2)
    chance = CHANCE
    yield DerivedNumber(
        "Table 1", "Average of chance: mean of eight columns", chance.average, mean_of(chance.scores, 8), 2
    )
    yield count_row(
        "Table 1, footnote",
        "Averages that leave out VID, of all averages",
        [abs(row.average - mean_of(row.scores, 8)) < 0.006 for row in (*rows.values(), chance)],
        "averages of models and people are means of nine columns, VID among them; only that of chance is of eight",
    )
    deltas = {name: row.delta_human for name, row in {**rows, "chance": chance}.items() if row.delta_human is not None}
    distances = {name: ({**rows, "chance": chance}[name].average - HUMAN.average) for name in deltas}
    yield from by_subject("Table 1", "Distance from people: difference of averages", deltas, distances, 2)


def _camera_ready() -> Iterator[PrintedNumber]:
    eight = {name: mean_of(row.scores, 8) for name, row in {**TABLE_1, **CAMERA_READY}.items()}
    averages = {**CAMERA_READY_AVERAGES, **{name: row.average for name, row in CAMERA_READY.items()}}
    yield from by_subject("camera-ready", "Average: mean of the eight columns without VID", averages, eight, 2)
    grouping = COLUMNS.index("oc-grp")
    changed = [*HUMAN.scores]
    changed[grouping] = CAMERA_READY_HUMAN_GRP
    average = CAMERA_READY_HUMAN_AVERAGE
    yield DerivedNumber("camera-ready", "Average of people: mean of eight columns", average, mean_of(changed, 8), 2)
    yield DerivedNumber(
        "camera-ready",
        "Distance of chance from people",
        CAMERA_READY_CHANCE_DELTA,
        CHANCE.average - average,
        2,
        known_reason="the preprint's distance is still printed; the average of people is another now",
    )
    yield DerivedNumber(
        "camera-ready, Table 3",
        "OC-Grp of InternVL2.5-8B, as in Table 1",
        CAMERA_READY_TABLE_3_GRP,
        TABLE_1["InternVL2.5-8B"].scores[grouping] or 0.0,
        2,
        known_reason="two questions of 200 apart: another run; all else of Table 1 is repeated",
    )


def _chance() -> Iterator[PrintedNumber]:
    reason = "the authors let one guess decide both statements of a pair; two independent guesses get 25"
    yield from by_subject(
        "Table 1", "Chance: uniform independent guesses", _scores(CHANCE), computed_chance(), 2,
        {"oc-cpr": reason, "pc-cpr": reason},
    )  # fmt: skip
    yield from by_subject(
        "Table 5",
        "cnt: different objects in a sequence",
        TABLE_5_COUNTS,
        {pattern: len(set(pattern)) for pattern in PATTERNS_OC},
        0,
        dict.fromkeys(
            ("AA", "AB", "AAA", "AAAA", "ABCD"),
            "the column counts neither objects nor letters; only the true counts give the printed chance of Cnt",
        ),
    )


def _shares() -> Iterator[PrintedNumber]:
    """Scores of right or wrong units must be shares of their number of units, to the last printed digit."""
    unscored = "no share of as many pairs; 87 of 258 and 79 of 217 would fit, as if some pairs were left out"
    for source, table in (("Table 1", TABLE_1), ("camera-ready", CAMERA_READY)):
        for task, units in UNITS.items():
            scores = {name: _scores(row)[task] for name, row in table.items()}
            yield from by_subject(
                source,
                f"{task}: a share of {units} units",
                scores,
                {name: nearest_share(score, units, 2) for name, score in scores.items()},
                2,
                {"Claude-3.7-sonnet": unscored} if source == "camera-ready" and task in ("gc-mat", "gc-trk") else {},
            )
        vid = {name: _scores(row)["pc-vid"] for name, row in table.items() if "pc-vid" in _scores(row)}
        yield from by_subject(
            source,
            "pc-vid: a multiple of 0.25",
            vid,
            {name: VID_STEP * round(score / VID_STEP) for name, score in vid.items()},
            2,
            {"GPT-4o-2024-11-20": "verdicts that could not be read were left out of the mean"},
        )
    for task in ("gc-mat", "gc-trk"):
        pairs = PAIRS[task]
        scores = {name: _scores(row)[task] for name, row in TABLE_1.items()}
        yield count_row(
            "Table 1, equation 2",
            f"{task}: scores that are shares of the {pairs} pairs of appendix 1",
            [abs(score - nearest_share(score, pairs, 2)) < 0.005 for score in scores.values()],
            f"all are shares of {UNITS[task]}: two pairs share a q_id in the released file",
        )


def _column(task: str) -> dict[str, float]:
    return {name: _scores(row)[task] for name, row in TABLE_1.items()}


def _best(averages: Mapping[str, float], count: int) -> set[str]:
    """The open-source models with the highest averages."""
    open_source = [name for name in averages if not name.startswith("GPT")]
    return set(sorted(open_source, key=lambda name: -averages[name])[:count])


def _claims() -> Iterator[PrintedNumber]:
    gap = HUMAN.average - TABLE_1["GPT-4o"].average
    places = HUMAN_GAP
    yield from by_subject("text", "GPT-4o behind people (points)", places, everywhere(gap, places), 2)
    yield DerivedNumber("Finding I", "Best score of a model in VID", BEST_VID, max(_column("pc-vid").values()), 2)
    yield DerivedNumber("Finding I", "People in VID", HUMAN_VID, _scores(HUMAN)["pc-vid"], 0)
    models = FINDING_III_MODELS
    gaps = {
        kind: sum(_column(f"pc-{kind}")[name] - _column(f"oc-{kind}")[name] for name in models) / len(models)
        for kind in PEOPLE_ABOVE_OBJECTS
    }
    yield from by_subject("Finding III", "PC above OC, three models (points)", PEOPLE_ABOVE_OBJECTS, gaps, 2)
    nine = {name: row.average for name, row in TABLE_1.items()}
    eight = {name: mean_of(row.scores, 8) for name, row in TABLE_1.items()}
    yield count_row(
        "Finding III",
        "Its models among the top three by the printed averages",
        [name in _best(nine, len(models)) for name in models],
        "LLaVA-Video-7B is third there; by the means of eight columns, printed later, InternVL2.5-8B is",
    )
    yield count_row(
        "Finding III",
        "Its models among the top three by means of eight columns",
        [name in _best(eight, len(models)) for name in models],
    )


def _judge_and_models() -> Iterator[PrintedNumber]:
    agreed, checked = JUDGE_AGREED, JUDGE_CHECKED
    yield DerivedNumber("section 3.1", "Verdicts that people share (%)", JUDGE_RATE, 100 * agreed / checked, 2)
    models = len(TABLE_1)
    yield DerivedNumber("section 3.1", "Verdicts checked", checked, JUDGE_CHECKED_PER_MODEL * models)
    yield DerivedNumber("section 3.1", "Discrepancies", JUDGE_DISCREPANCIES, checked - agreed)
    places = OPEN_MODELS
    open_source = sum(not name.startswith("GPT") for name in TABLE_1)
    yield from by_subject("text", "Open-source models: rows of Table 1", places, everywhere(open_source, places))
    yield DerivedNumber(
        "section 3.2",
        "Open-source models: names listed",
        places["section 3.2"],
        len(OPEN_MODEL_NAMES),
        known_reason="InternVL2.5 was asked in two sizes",
    )
    places = FINDINGS
    yield from by_subject(
        "text", "Findings announced: findings numbered", places, everywhere(len(FINDING_NUMERALS), places), 0,
        dict.fromkeys(places, "the text numbers I to IX"),
    )  # fmt: skip


def _counts() -> Iterator[PrintedNumber]:
    queries, total = QUERIES, sum(QUERIES.values())
    yield DerivedNumber("section 2.4", "Questions: sum over tasks", QUESTIONS, total)
    yield DerivedNumber("abstract", "Questions: over", MORE_QUESTIONS_THAN, total, relation=">")
    places = SUBTASKS
    yield from by_subject(
        "text", "Subtasks: columns of Table 1", places, everywhere(len(COLUMNS), places), 0,
        {"introduction": "says eight, all other places nine"},
    )  # fmt: skip
    yield from _formats(total)
    pairs = PAIRS
    twice = {task: 2 * count for task, count in pairs.items()}
    yield from by_subject("appendix 1", "Questions: twice the pairs", {task: queries[task] for task in pairs}, twice)
    by_length = {task: sum(lengths.values()) for task, lengths in LENGTHS.items()}
    yield from by_subject(
        "appendix 4, D", "Cnt questions: sum over lengths", {task: queries[task] for task in by_length}, by_length
    )
    split = {task: sum(counts) for task, counts in TRUE_AND_FALSE.items()}
    yield from by_subject("appendix 1", "Cpr pairs: true and false", {task: pairs[task] for task in split}, split)


def _formats(total: int) -> Iterator[PrintedNumber]:
    formats = {
        "true_false": sum(QUERIES[task] for task in PAIRS),
        "choice": QUERIES["oc-grp"] + QUERIES["pc-grp"],
        "integer": QUERIES["oc-cnt"] + QUERIES["pc-cnt"],
        "description": QUERIES["pc-vid"],
    }
    yield from by_subject(
        "Figure 4",
        "Share of a format of answer (%)",
        PRINTED_FORMATS,
        {name: 100 * count / total for name, count in formats.items()},
        2,
        {"choice": "300 of 3,060 is 9.80", "integer": "480 of 3,060 is 15.69"},
    )


def _one_subject(patterns: Sequence[str]) -> list[str]:
    return [pattern for pattern in patterns if len(set(pattern)) == 1]


def _sequences() -> Iterator[PrintedNumber]:
    objects = OBJECT_TYPES * OBJECTS_PER_TYPE
    of_object = IMAGES_OF_AN_OBJECT + DISTRACTORS_OF_AN_OBJECT
    yield DerivedNumber("appendix 4", "Images of objects: types x objects x 8", OBJECT_IMAGES, objects * of_object)
    yield DerivedNumber(
        "Figure 8",
        "Images of objects, with its four objects a type",
        OBJECT_IMAGES,
        OBJECT_TYPES * FIGURE_8_OBJECTS_PER_TYPE * of_object,
        known_reason="the figure is wrong: 360 sequences of nine patterns need five objects a type, as the text has",
    )
    people = RACES * GENDERS * PEOPLE_OF_EACH
    yield DerivedNumber("appendix 5", "Images of people: 3 x 2 x 5 x 4", PEOPLE_IMAGES, people * IMAGES_OF_A_PERSON)
    sequences = {"oc": len(PATTERNS_OC) * objects, "pc": sum(PC_COUNTS.values())}
    yield from by_subject("appendix 4, 5", "Sequences: sum over patterns", SEQUENCES, sequences)
    lengths = {
        f"{length} images": objects * sum(len(pattern) == length for pattern in PATTERNS_OC)
        for length in LENGTHS["oc-cnt"]
    }
    yield from by_subject(
        "appendix 4",
        "OC-Cnt questions by length: objects x patterns",
        {f"{length} images": count for length, count in LENGTHS["oc-cnt"].items()},
        lengths,
    )
    yield from _questions_of_sequences(objects)


def _questions_of_sequences(objects: int) -> Iterator[PrintedNumber]:
    queries, pairs, split = QUERIES, PAIRS, TRUE_AND_FALSE
    same = {
        "oc-cpr": objects * len(_one_subject(PATTERNS_OC)),
        "pc-cpr": sum(PC_COUNTS[pattern] for pattern in _one_subject(tuple(PC_COUNTS))),
    }
    other = {"oc-cpr": objects * len(PATTERNS_OC) - same["oc-cpr"], "pc-cpr": sum(PC_COUNTS.values()) - same["pc-cpr"]}
    yield from by_subject("appendix 1", "Cpr pairs of one subject", {task: split[task][0] for task in split}, same)
    yield from by_subject(
        "appendix 1",
        "Cpr pairs of several subjects",
        {task: split[task][1] for task in split},
        other,
        0,
        {"pc-cpr": "100 of 160 mixed sequences are asked about; no rule of selection is printed"},
    )
    yield DerivedNumber("appendix 1", "OC-Cpr pairs: one a sequence", pairs["oc-cpr"], SEQUENCES["oc"])
    yield DerivedNumber("appendix 1", "OC-Cnt questions: one a sequence", queries["oc-cnt"], SEQUENCES["oc"])
    yield DerivedNumber(
        "appendix 1", "OC-Grp questions: five patterns x objects", queries["oc-grp"], len(PATTERNS_GRP) * objects
    )
    yield DerivedNumber(
        "appendix 1",
        "PC-Grp questions: sequences of the same patterns",
        queries["pc-grp"],
        sum(PC_COUNTS[pattern] for pattern in PATTERNS_GRP),
        known_reason="100 of 110 sequences are asked about; no rule of selection is printed",
    )


def _underivable() -> Iterator[PrintedNumber]:
    scores = [score for row in _everyone().values() for score in row.scores if score is not None]
    yield Underivable(
        "Table 1",
        "Scores of models and people",
        len(scores),
        "replies were not released; only their steps are checked above",
    )
    added = [score for row in CAMERA_READY.values() for score in row.scores if score is not None]
    yield Underivable("camera-ready", "Scores of three more models, people in OC-Grp", len(added) + 1, "the same")
    yield Underivable("Figure 5", "Changes by chain of thought and by visual prompts", 0, "drawn, not printed")
    yield Underivable("Finding II", "Errors in GC by kind of edit", 0, "the table is named and not part of the text")
    yield Underivable(
        "section 2.4, app. 2", "Fleiss' kappa 0.983, agreement 98.74 %", 2, "labels of annotators were not released"
    )


def derived_numbers() -> Iterator[PrintedNumber]:
    """Every number of the paper that follows from others, then those that follow from nothing printed."""
    for part in (
        _averages, _chance, _shares, _claims, _judge_and_models, _counts, _sequences, _camera_ready, _underivable,
    ):  # fmt: skip
        yield from part()
