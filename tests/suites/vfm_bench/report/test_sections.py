"""Report sections of VFM Bench, on a few episodes whose answers and tables are computed by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from snellen.analysis.comparison.groups import counterparts
from snellen.analysis.grading.results import results, with_python_strings
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.condition import parse_conditions
from snellen.core.item import Item, Media
from snellen.core.response import Response
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import ItemSetCard
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import ArmCard, RunCard
from snellen.runs.scores.score import score
from snellen.suites.vfm_bench import SUITE
from snellen.suites.vfm_bench.items import Episode, EpisodeClass, episode_item
from snellen.suites.vfm_bench.published import TABLE_1
from snellen.suites.vfm_bench.report import shot_series
from snellen.suites.vfm_bench.report.ablations import own_changes
from snellen.suites.vfm_bench.report.sections import mean_gap, sections, spread
from snellen.suites.vfm_bench.report.shot_series import write_shots
from snellen.suites.vfm_bench.shot_curves import delta, eta, interval
from tests.goldens.golden import assert_golden
from tests.goldens.sections import sections_text
from tests.helpers.sections import UNHASHED, by_name, row_of
from tests.published.vfm_bench import REASONING, TRADITIONAL

Says = Callable[[Item], str | None]
"""The reply of a subject to an episode; None is a failed call."""
DECLINES = object()


def _episode(number: int, class_count: int, media: MediaFolder, **fields: Any) -> Item:
    """An episode with two shots. The true class rotates with the number; every image has its own colour."""

    def image(*position: int) -> Media:
        colour = tuple(int(x) for x in stream("test", "picture", number, *position).integers(256, size=3))
        return media.add_image(Image.new("RGB", (12, 8), colour))

    classes = tuple(EpisodeClass(f"kind {n}", (image(n, 0), image(n, 1))) for n in range(class_count))
    cells: dict[str, Any] = {
        "industry": "Medical", "level": "detail", "scene": "cells", "source": "S", "cluster": f"concept {number}",
        **fields,
    }  # fmt: skip
    return episode_item(Episode(f"{number}", image(99), classes, number % class_count, **cells))


@pytest.fixture
def items(tmp_path: Path) -> ItemSet:
    """Four episodes of 2, 2, 4 and 4 classes, one concept each. Two have a region; each industry has two episodes."""
    media = MediaFolder(tmp_path)
    box, farm = {"box": (1, 1, 4, 4)}, {"industry": "Agriculture", "scene": "leaves", "level": "object"}
    episodes = [
        _episode(0, 2, media, **box),
        _episode(1, 2, media, **box, **farm),
        _episode(2, 4, media),
        _episode(3, 4, media, **farm),
    ]
    card = ItemSetCard(
        suite="vfm-bench", version="1", source="curated", recipe={}, recipe_hash="", content_hash="", items=4, counts={}
    )
    return ItemSet(tmp_path, card, tuple(episodes), media)


def _right_on(*numbers: int) -> Says:
    """Replies that are right on these episodes and name the class after the true one on others."""

    def says(item: Item) -> str:
        index = int(str(item.answer)[1:])
        correct = int(item.item_id.rpartition("-")[2]) in numbers
        return item.options[index if correct else (index + 1) % len(item.options)].text

    return says


def _run(items: ItemSet, replies: Mapping[tuple[str, str], Any], attributes: Mapping[str, Any] | None = None) -> Run:
    """Score the replies of every arm. Conditions are parsed, so their names are those of a real run."""
    arms, responses = [], list[Response]()
    for (subject, condition_text), says in replies.items():
        (condition,) = parse_conditions(SUITE.axes, condition_text)
        columns = {**condition.columns(), "sheet": "separate"}
        name, details = str(condition), dict((attributes or {}).get(subject, {}))
        arms.append(
            ArmCard(
                subject=subject, fingerprint=subject, settings=details.pop("settings", {"name": subject}),
                attributes=details, condition=name, columns=columns, repeat=0,
            )
        )  # fmt: skip
        for item in items.items:
            if not SUITE.tasks[item.task].asks(item, condition):
                continue
            text = None if says is DECLINES else says(item)
            status = "declined" if says is DECLINES else "failed" if text is None else "ok"
            cells = (item.item_id, item.task, name, 0, status, text, "", item.view().reply, ())
            responses.append(Response(f"{subject}/{name}/{item.item_id}", subject, subject, *cells))  # type: ignore[arg-type]
    scores = with_python_strings(score(responses, items, SUITE, "strict", {}))
    card = RunCard(suite="vfm-bench", version="1", seed=0, limit=None, arms=arms, **UNHASHED)
    rows = with_python_strings(results(scores, items, SUITE, arms))
    return Run(card, SUITE, items, (), {"strict": scores}, rows)


def _report(run: Run, *, with_figures: bool = False) -> dict[str, ReportSection]:
    """The sections by name. Figures are drawn in one run of each kind, since drawing is slow."""
    return by_name(sections(run), with_figures=with_figures)


def _start(cell: str) -> str:
    """The number of a cell, without its interval."""
    return cell.split(" ")[0].rstrip(",")


def test_table_1_uses_chance_instead_of_zero_shots_for_encoders(items: ItemSet) -> None:
    """One of four right at none, two at one shot, three at five: gains .25, .5, mean .375; eta .375/.5, delta .375/.75.

    Chance is the mean of 1/2, 1/2, 1/4, 1/4. Above it the encoder gains .125 and .375: eta .25/.375, delta .25/.625.
    """
    run = _run(
        items,
        {
            ("fake:oracle", "shots=0"): _right_on(0, 1, 2, 3),
            ("fake:oracle", "shots=1"): _right_on(0, 1, 2, 3),
            ("own:learner", "shots=0"): _right_on(0),
            ("own:learner", "shots=1"): _right_on(0, 1),
            ("own:learner", "vanilla"): _right_on(0, 1, 2),
            ("own:forgetter", "shots=0"): _right_on(0, 1),
            ("own:forgetter", "shots=1"): _right_on(0),
            ("encoder:e", "shots=0"): DECLINES,
            ("encoder:e", "shots=1"): _right_on(0, 1),
            ("encoder:e", "vanilla"): _right_on(0, 1, 2),
        },
    )
    report = _report(run, with_figures=True)
    table = report["table-1"]
    assert list(table.table.columns)[2:5] == ["0 shots", "1 shot", "5 shots"]
    assert table.figure is not None
    labels = {str(line.get_label()) for line in table.figure().axes[0].get_lines()}
    assert labels >= {"own:learner", "own:forgetter", "encoder:e"}
    assert "fake:oracle" not in labels, "others are in the figure"
    learner = row_of(table, subject="own:learner")
    assert [_start(learner[name]) for name in ("0 shots", "1 shot", "5 shots")] == ["25", "50", "75"]
    assert (_start(learner["efficiency"]), _start(learner["effectiveness"])) == ("75", "50")
    forgetter = row_of(table, subject="own:forgetter")
    assert forgetter["efficiency"] == "undefined: no gain"
    assert _start(forgetter["effectiveness"]) == "-50"
    assert forgetter["5 shots"] == "–"
    encoder = row_of(table, subject="encoder:e")
    assert encoder["0 shots"] == "declined"
    assert encoder["efficiency"] == encoder["effectiveness"] == "undefined: no 0 shots"
    assert row_of(table, subject="fake:oracle")["effectiveness"] == "undefined: perfect at 0 shots"
    assert list(table.table["subject"])[-2:] == ["fake:oracle", "(random policy)"]
    assert row_of(table, subject="(random policy)")["1 shot"] == "37.5"
    above = row_of(report["table-1-above-chance"], subject="encoder:e")
    assert above["chance"] == "37.5"
    assert (_start(above["efficiency above chance"]), _start(above["effectiveness above chance"])) == ("67", "40")


def test_runs_without_encoders_have_no_table_above_chance(items: ItemSet) -> None:
    run = _run(items, {("own:m", "shots=0"): _right_on(0), ("own:m", "vanilla"): _right_on(0, 1)})
    assert "table-1-above-chance" not in _report(run)


def test_fabricated_names_are_compared_with_real_ones_where_they_are_the_default(items: ItemSet) -> None:
    """Right with real names 4 of 4, with fabricated ones, asked as such or by default, 1 of 4: -75 %."""
    generated = replace(items, card=items.card.model_copy(update={"source": "generated"}))
    arms = {("own:m", "shots=0"): _right_on(0), ("own:m", "shots=0,labels=fabricated"): _right_on(0)}
    assert "table-4-strategies" not in _report(_run(generated, arms)), "two equal wordings"
    run = _run(generated, {**arms, ("own:m", "shots=0,labels=real"): _right_on(0, 1, 2, 3)})
    assert row_of(_report(run)["table-4-strategies"], subject="own:m")["fabricated names (φ fdli)"].startswith("-75")


def test_changes_are_computed_on_the_items_that_both_arms_have(items: ItemSet) -> None:
    """Enhanced, 0 and 1 can be asked, and both are right; unchanged, 0 is: +100 %, not 2/2 against the base of 1/4.

    Fabricated names at 0 and 1 shot: item 3 failed once and is left out of all four arms. Of 0, 1 and 2, unchanged,
    0 is right, then 0 and 1 (mean 1/2); with the change none, then 0 (mean 1/6): (1 - 3) / 3.
    """

    def fails_on_3(item: Item) -> str | None:
        return None if item.item_id.endswith("3") else _right_on()(item)

    run = _run(
        items,
        {
            ("own:m", "shots=0"): _right_on(0),
            ("own:m", "shots=1"): _right_on(0, 1, 3),
            ("own:m", "shots=0,query=enhance"): _right_on(0, 1),
            ("own:m", "shots=0,instruction=detailed"): _right_on(),
            ("own:m", "shots=0,labels=fabricated"): fails_on_3,
            ("own:m", "shots=1,labels=fabricated"): _right_on(0, 3),
        },
    )
    report = _report(run, with_figures=True)
    causes = row_of(report["table-4-causes"], subject="own:m")
    assert _start(causes["base (0 shots)"]) == "25"
    assert _start(causes["one shot (φ vdpi)"]) == "+200"
    assert _start(causes["region enhanced (φ hkfi)"]) == "+100"
    assert _start(causes["detailed instruction (φ dipi)"]) == "-100"
    strategies = row_of(report["table-4-strategies"], subject="own:m")
    assert _start(strategies["average"]) == "50"  # of all four items: 1/4 and 3/4
    assert strategies["average"].endswith("over 0, 1")
    assert strategies["fabricated names (φ fdli)"].startswith("-67")
    assert strategies["replicated demos (φ ichi)"] == "–"
    line = row_of(report["changes"], change="labels=fabricated")
    assert (line["shots"], line["items"], line["unchanged"], line["changed"]) == ("0, 1", 3, "50", "17")
    assert line["difference"].startswith("-33.3")


def test_the_cells_of_table_4_are_in_its_order(items: ItemSet) -> None:
    """Right of four at 0 to 5 shots: 1, 2, 1, 3, 4, 1, mean 12 / 24. Each change at 0 shots, or at all, by hand."""
    right = [(0,), (0, 1), (2,), (0, 1, 2), (0, 1, 2, 3), (3,)]
    arms: dict[tuple[str, str], Any] = {("own:m", f"shots={k}"): _right_on(*right[k]) for k in range(5)}
    arms |= {("own:m", "vanilla"): _right_on(*right[5]), ("own:few", "shots=0"): _right_on(0, 1)}
    arms |= {("own:few", "shots=2"): lambda item: None if item.item_id.endswith("3") else _right_on(0)(item)}
    arms[("own:m", "query=enhance,shots=0")] = _right_on()
    arms[("own:m", "instruction=detailed,shots=0")] = _right_on(1, 2)
    uses = {"labels=fabricated": (0, 1, 2), "images=replicated": (0,), "images=negative-noise": ()}
    for change, numbers in uses.items():
        arms |= {("own:m", f"{change},shots={k}"): _right_on(*numbers) for k in range(5)}
        arms[("own:m", change)] = _right_on(*numbers)
    run = _run(items, arms)
    # One shot doubles 1 / 4. Enhanced, none of 0 and 1 is right, of which one was. Detailed: 2 / 4. 3, 1 and 0 of 4
    # at all six numbers of shots are 18, 6 and 0 of 24, against 12.
    assert own_changes(run) == {
        "own:m": ["0.25", "+100 %", "-100 %", "+100 %", "0.50", "+50 %", "-50 %", "-100 %"],
    }
    table = _report(run)["table-1"]
    assert [row_of(table, subject=f"own:{name}")["items"] for name in ("m", "few")] == ["4", "3–4"]


def test_numbers_of_shots_are_written_as_a_range_or_one_by_one() -> None:
    cases = [(0, 1, 2), (5, 4, 3), (1, 3, 5), (0, 1), (4,), range(6)]
    assert [write_shots(shots) for shots in cases] == ["0–2", "3–5", "1, 3, 5", "0, 1", "4", "0–5"]


def test_a_change_is_compared_with_an_arm_shown_the_same_way(items: ItemSet) -> None:
    """On one sheet everything is right, and with exchanged names nothing; elsewhere nothing is right unchanged."""
    run = _run(
        items,
        {
            ("own:m", "vanilla"): _right_on(),
            ("own:m", "sheet=single"): _right_on(0, 1, 2, 3),
            ("own:m", "labels=exchange,sheet=single"): _right_on(),
            ("own:m", "labels=exchange"): _right_on(),
            ("own:m", "labels=exchange,order=shuffled"): _right_on(),
        },
    )
    changes = _report(run)["changes"]
    assert len(changes.table) == 2  # no subject was shown another order without a change
    assert row_of(changes, subject="own:m [sheet=single]")["φ"] == "-100"
    assert row_of(changes, subject="own:m")["φ"] == "undefined: nothing right unchanged"


def test_industries_have_a_spread_and_chance(items: ItemSet) -> None:
    """Medicine both right, farming both wrong: the standard deviation of 1 and 0 is .707, without noise to subtract."""
    run = _run(items, {("own:m", "shots=1"): _right_on(0, 2), ("own:m", "shots=0"): _right_on(1, 3)})
    report = _report(run, with_figures=True)
    line = row_of(report["by-industry"], subject="own:m")
    assert list(report["by-industry"].table.columns)[2:4] == ["Agriculture", "Medical"]
    assert (line["shots"], _start(line["Agriculture"]), _start(line["Medical"])) == ("1", "0", "100")
    assert (line["spread"], line["beyond chance of the draw"]) == ("70.7", "70.7")
    random = row_of(report["by-industry"], subject="(random policy)")
    assert (random["Medical"], random["spread"]) == ("37.5", "0.0")
    relabelled = [replace(item, factors={**item.factors, "industry": "Generated"}) for item in items.items]
    one_industry = replace(items, items=tuple(relabelled))
    assert "by-industry" not in _report(_run(one_industry, {("own:m", "shots=1"): _right_on(0)}))


def test_spread_subtracts_the_spread_of_equally_hard_levels() -> None:
    """Four levels, each half right of 20: no spread is observed, and none remains after resampling.

    With 20, 40, 60 and 80 % of 20 right, the mean of variances p (1 - p) / 19 is (.16 + .24 + .24 + .16) / 76 =
    .010526; the observed square is .0667, which leaves .0561, a deviation of .2369.
    """

    def levels(*right: int) -> list[pd.DataFrame]:
        names = [f"c{n}" for n in range(20)]
        return [
            pd.DataFrame({"value": np.arange(20) < count, "cluster_id": names}).astype({"value": float})
            for count in right
        ]

    even = spread(levels(10, 10, 10, 10), stream("test", "even"))
    assert even is not None
    assert (even.observed, even.beyond, even.low) == (0.0, 0.0, 0.0)
    assert even.high == pytest.approx((0.25 / 19 * (9.348 / 3 - 2)) ** 0.5, abs=0.01)  # 97.5 % of chi square, 3 degrees
    uneven = spread(levels(4, 8, 12, 16), stream("test", "apart"))
    assert uneven is not None
    assert uneven.observed == pytest.approx(0.2582, abs=1e-4)
    assert uneven.beyond == pytest.approx(0.2369, abs=2e-3)
    assert 0 < uneven.low < uneven.beyond < uneven.high


def test_reasoning_gains_agree_with_the_printed_ones() -> None:
    """Section 4.2 prints +4.8 and +4.4; from Table 1 follow 4.83 and 4.41 points."""
    curves = [TABLE_1[name].curve for pair in zip(REASONING, TRADITIONAL, strict=True) for name in pair]
    assert mean_gap(eta, curves) == pytest.approx(0.0483, abs=5e-5)
    assert mean_gap(delta, curves) == pytest.approx(0.0441, abs=5e-5)
    assert mean_gap(eta, [*curves, {0: 0.5, 1: 0.4}, {0: 0.1, 1: 0.2}]) is None


def test_reasoning_subjects_are_paired_with_their_counterparts(items: ItemSet) -> None:
    """Thinker: none of four, two, four right: eta 3/4, delta 3/4. Plain: none, one, two: eta 3/4, delta 3/8."""
    thinking = {"settings": {"model": "m", "reasoning_effort": "high"}}
    plainly = {"settings": {"model": "m", "reasoning_effort": "none"}}
    attributes = {
        "own:thinker": {"reasoning": "yes", "counterpart": "own:plain"},
        "chat:m-high": thinking,
        "chat:m": plainly,
    }
    thinks = {"shots=0": _right_on(), "shots=1": _right_on(0, 1), "vanilla": _right_on(0, 1, 2, 3)}
    plain = {"shots=0": _right_on(), "shots=1": _right_on(0), "vanilla": _right_on(0, 1)}
    replies = {
        (subject, condition): says
        for subject, curve in {"own:thinker": thinks, "chat:m-high": plain, "own:plain": plain, "chat:m": plain}.items()
        for condition, says in curve.items()
    }
    run = _run(items, replies, attributes)
    assert counterparts(run.card.arms) == [("own:thinker", "own:plain"), ("chat:m-high", "chat:m")]
    section = _report(run)["reasoning"]
    if section.figure is not None:
        section.figure().draw_without_rendering()
    line = row_of(section, reasons="own:thinker")
    assert (line["efficiency"], line["its"], line["effectiveness"], line["its "]) == ("75.0", "75.0", "75.0", "37.5")
    assert _start(line["difference "]) == "+37.5"
    assert _start(row_of(section, reasons="(mean of 2 pairs)")["difference "]) == "+18.8"  # halves of 37.5 and 0
    assert "reasoning" not in [section.name for section in sections(_run(items, replies))]


def test_confusions_are_shown_with_their_images(items: ItemSet) -> None:
    """Item 0 (cells, two classes): kind 0 is called kind 1. Item 2 (cells, four classes): kind 2 is called kind 3.

    In the other task nothing is confused. `kind 0` was true once with kind 1 among the options; 0 shots do not count.
    """
    run = _run(items, {("own:m", "vanilla"): _right_on(1, 3), ("own:m", "shots=0"): _right_on()})
    twice = replace(items, items=(*items.items, replace(items.items[2], item_id="fast-mapping-6")))
    confused = _report(run, with_figures=True)["confused"]
    assert confused.table.values.tolist() == [
        ["own:m", "S/cells", "kind 0", "kind 1", 1, 1, "100"],
        ["own:m", "S/cells", "kind 2", "kind 3", 1, 1, "100"],
    ]
    again = _report(_run(twice, {("own:m", "vanilla"): _right_on(1, 3, 6)}))["confused"].table
    assert again.values.tolist()[1] == ["own:m", "S/cells", "kind 2", "kind 3", 1, 2, "50"]
    figure = confused.figure()
    colours = [axes.get_images()[0].get_array()[0, 0].tolist() for axes in figure.axes if axes.get_images()]
    first = items.items[0]
    demo = next(demo for demo in first.support if demo.answer == "c1" and demo.shot == 0)
    pixels = [np.asarray(items.media.open(image))[0, 0].tolist() for image in (first.query[0], demo.media[0])]
    assert colours[:2] == pixels
    assert len(colours) == 4


def test_confusions_are_ordered_by_their_number_then_by_their_share(items: ItemSet) -> None:
    """Item 2 is confused in two of three questions, item 3 in its only one, item 0 in one of two."""
    again = [replace(items.items[number], item_id=f"fast-mapping-{n}") for n, number in ((4, 0), (5, 2), (6, 2))]
    run = _run(replace(items, items=(*items.items, *again)), {("own:m", "vanilla"): _right_on(1, 4, 6)})
    table = _report(run)["confused"].table
    assert table[["is", "times", "chances"]].values.tolist() == [["kind 2", 2, 3], ["kind 3", 1, 1], ["kind 0", 1, 2]]
    assert list(table["percent"]) == ["67", "100", "50"]


def test_a_subject_that_confuses_nothing_has_no_section(items: ItemSet) -> None:
    arms: Sequence[tuple[str, str]] = [("own:m", "vanilla"), ("fake:chance", "vanilla")]
    run = _run(items, {arms[0]: _right_on(0, 1, 2, 3), arms[1]: _right_on()})
    assert "confused" not in _report(run)


def _varied(rate: float, *key: str) -> Says:
    """Right at this rate, else another class, no answer or a failed call, as drawn for each item by the key."""

    def says(item: Item) -> str | None:
        rng = stream("test", "varied", *key, item.item_id)
        if rng.random() < rate:
            return next(option.text for option in item.options if option.key == item.answer)
        wrong: list[str | None] = [option.text for option in item.options if option.key != item.answer]
        return [*wrong, *wrong, "no idea", None][int(rng.integers(2 * len(wrong) + 2))]

    return says


def test_all_sections_of_a_large_run_equal_their_golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fourteen episodes of three industries, three subjects, and all kinds of change; 40 draws for each interval."""
    monkeypatch.setattr(shot_series, "interval", partial(interval, draws=40))
    media = MediaFolder(tmp_path)
    fields = ("Medical", "cells"), ("Agriculture", "leaves"), ("E-commerce", "cells")
    kinds = [dict(zip(("industry", "scene"), fields[n % 5 % 3], strict=True)) for n in range(14)]
    boxes = [{"box": (1, 2, 5, 4)} if n % 4 else {} for n in range(14)]
    episodes = [_episode(n, 2 + n % 3, media, cluster=f"c{n // 2}", **kinds[n], **boxes[n]) for n in range(14)]
    card = ItemSetCard(
        suite="vfm-bench",
        version="1",
        source="curated",
        recipe={},
        recipe_hash="",
        content_hash="",
        items=14,
        counts={},
    )
    rates = {"own:thinker": 0.8, "own:plain": 0.5, "encoder:e": 0.6}
    replies: dict[tuple[str, str], Any] = {
        (name, text): DECLINES if (name, text) == ("encoder:e", "shots=0") else _varied(rate * share, name, text)
        for name, rate in rates.items()
        for text, share in {"shots=0": 0.5, "shots=3": 0.9, "vanilla": 1.0}.items()
        if (name, text) != ("own:plain", "shots=3")
    }
    changed = [
        "query=enhance,shots=0", "instruction=detailed,shots=0", "sheet=single", "labels=exchange,sheet=single",
        "labels=fabricated,shots=0", "labels=fabricated", "images=replicated",
    ]  # fmt: skip
    replies |= {("own:thinker", text): _varied(0.5, text) for text in changed}
    attributes = {"own:thinker": {"reasoning": "yes", "counterpart": "own:plain"}}
    run = _run(ItemSet(tmp_path, card, tuple(episodes), media), replies, attributes)
    assert_golden("suites/vfm-bench-sections.txt", sections_text(sections(run)))
