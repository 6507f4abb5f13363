"""What a report shows of VFM Bench, on a few episodes whose answers, and so whose tables, are worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from snellen.analysis.groups import counterparts
from snellen.analysis.results import results, with_python_strings
from snellen.analysis.section import ReportSection, Run
from snellen.analysis.shot_curves import delta, eta
from snellen.core.condition import parse_conditions
from snellen.core.item import Item, Media
from snellen.core.response import Response
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, ItemSetCard
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import ArmCard, RunCard
from snellen.runs.score import score
from snellen.suites.vfm_bench import SUITE
from snellen.suites.vfm_bench.items import Episode, EpisodeClass, episode_item
from snellen.suites.vfm_bench.published import REASONING, TABLE_1, TRADITIONAL
from snellen.suites.vfm_bench.report.by_industry import spread
from snellen.suites.vfm_bench.report.reasoning import mean_gap
from snellen.suites.vfm_bench.report.sections import sections
from tests.helpers.sections import UNHASHED, by_name, row_of

Says = Callable[[Item], str | None]
"""What somebody replies to an episode; None is a failed call."""
DECLINES = object()


def _episode(number: int, ways: int, media: MediaFolder, **told: Any) -> Item:
    """An episode with two shots. Truths go round the classes; every image has a colour of its own."""

    def image(*place: int) -> Media:
        colour = tuple(int(x) for x in stream("test", "picture", number, *place).integers(256, size=3))
        return media.add_image(Image.new("RGB", (12, 8), colour))

    classes = tuple(EpisodeClass(f"kind {n}", (image(n, 0), image(n, 1))) for n in range(ways))
    cells: dict[str, Any] = {
        "industry": "Medical", "level": "detail", "scene": "cells", "source": "S", "cluster": f"concept {number}",
        **told,
    }  # fmt: skip
    return episode_item(Episode(f"{number}", image(99), classes, number % ways, **cells))


@pytest.fixture
def items(tmp_path: Path) -> ItemSet:
    """Four episodes of 2, 2, 4 and 4 classes, a concept each. Two have a region, each industry two episodes."""
    media = MediaFolder(tmp_path)
    box, farm = {"box": (1, 1, 4, 4)}, {"industry": "Agriculture", "scene": "leaves", "level": "object"}
    made = [
        _episode(0, 2, media, **box),
        _episode(1, 2, media, **box, **farm),
        _episode(2, 4, media),
        _episode(3, 4, media, **farm),
    ]
    card = ItemSetCard(
        suite="vfm-bench", version="1", source="curated", recipe={}, recipe_hash="", content_hash="", items=4, counts={}
    )
    return ItemSet(tmp_path, card, tuple(made), media)


def _right_on(*numbers: int) -> Says:
    """Right on these episodes, and on others the class next to the true one."""

    def says(item: Item) -> str:
        place = int(str(item.answer)[1:])
        right = int(item.item_id.rpartition("-")[2]) in numbers
        return item.options[place if right else (place + 1) % len(item.options)].text

    return says


def _run(items: ItemSet, said: Mapping[tuple[str, str], Any], attributes: Mapping[str, Any] | None = None) -> Run:
    """Score what every arm says. Conditions are read, so that their names are those of a real run."""
    arms, responses = [], list[Response]()
    for (subject, told), says in said.items():
        (condition,) = parse_conditions(SUITE.axes, told)
        columns = {**condition.columns(), "sheet": "separate"}
        name, held = str(condition), dict((attributes or {}).get(subject, {}))
        arms.append(
            ArmCard(
                subject=subject, fingerprint=subject, settings=held.pop("settings", {"name": subject}),
                attributes=held, condition=name, columns=columns, repeat=0,
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


def _found(run: Run, *, with_figures: bool = False) -> dict[str, ReportSection]:
    """Figures are drawn in one run of each kind, for drawing takes longest."""
    return by_name(sections(run), with_figures=with_figures)


def _start(cell: str) -> str:
    """The number of a cell, without its interval."""
    return cell.split(" ")[0].rstrip(",")


def test_table_1_and_chance_in_the_place_of_zero_shots(items: ItemSet) -> None:
    """One of four at none, two at one shot, three at five: gains .25 and .5, mean .375; eta .375/.5, delta .375/.75.

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
    found = _found(run, with_figures=True)
    table = found["table-1"]
    assert list(table.table.columns)[2:5] == ["0 shots", "1 shot", "5 shots"]
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
    above = row_of(found["table-1-above-chance"], subject="encoder:e")
    assert above["chance"] == "37.5"
    assert (_start(above["efficiency above chance"]), _start(above["effectiveness above chance"])) == ("67", "40")


def test_without_encoders_nobody_is_measured_above_chance(items: ItemSet) -> None:
    run = _run(items, {("own:m", "shots=0"): _right_on(0), ("own:m", "vanilla"): _right_on(0, 1)})
    assert "table-1-above-chance" not in _found(run)


def test_changes_are_told_on_the_items_that_both_arms_have(items: ItemSet) -> None:
    """Enhanced, 0 and 1 can be asked, and both are right; as they are, 0 is: +100 %, not 2/2 against the base of 1/4.

    Fabricated names at 0 and 1 shot: item 3 failed once and is left out of all four arms. Of 0, 1 and 2 there are right
    0; 0 and 1 (mean 1/2) as they are, none; 0 (mean 1/6) with the change: (1 - 3) / 3.
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
    found = _found(run, with_figures=True)
    causes = row_of(found["table-4-causes"], subject="own:m")
    assert _start(causes["base (0 shots)"]) == "25"
    assert _start(causes["one shot (φ vdpi)"]) == "+200"
    assert _start(causes["region enhanced (φ hkfi)"]) == "+100"
    assert _start(causes["detailed instruction (φ dipi)"]) == "-100"
    strategies = row_of(found["table-4-strategies"], subject="own:m")
    assert _start(strategies["average"]) == "50"  # of all four items: 1/4 and 3/4
    assert strategies["average"].endswith("over 0, 1")
    assert strategies["fabricated names (φ fdli)"].startswith("-67")
    assert strategies["replicated demos (φ ichi)"] == "–"
    line = row_of(found["changes"], change="labels=fabricated")
    assert (line["shots"], line["items"], line["unchanged"], line["changed"]) == ("0, 1", 3, "50", "17")
    assert line["difference"].startswith("-33.3")


def test_a_change_is_compared_with_what_was_shown_alike(items: ItemSet) -> None:
    """On one sheet all is right, with names exchanged there nothing; elsewhere nothing is right to begin with."""
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
    changes = _found(run)["changes"]
    assert len(changes.table) == 2  # nobody was shown another order without a change
    assert row_of(changes, subject="own:m [sheet=single]")["φ"] == "-100"
    assert row_of(changes, subject="own:m")["φ"] == "undefined: nothing right unchanged"


def test_industries_with_their_spread_and_chance(items: ItemSet) -> None:
    """Medicine both right, farming both wrong: standard deviation of 1 and 0 is .707, and no noise to take off."""
    run = _run(items, {("own:m", "shots=1"): _right_on(0, 2), ("own:m", "shots=0"): _right_on(1, 3)})
    found = _found(run, with_figures=True)
    line = row_of(found["by-industry"], subject="own:m")
    assert list(found["by-industry"].table.columns)[2:4] == ["Agriculture", "Medical"]
    assert (line["shots"], _start(line["Agriculture"]), _start(line["Medical"])) == ("1", "0", "100")
    assert (line["spread"], line["beyond chance of the draw"]) == ("70.7", "70.7")
    random = row_of(found["by-industry"], subject="(random policy)")
    assert (random["Medical"], random["spread"]) == ("37.5", "0.0")
    ways = row_of(found["by-ways"], subject="(random policy)")
    assert (ways["2 classes"], ways["4 classes"]) == ("50.0", "25.0")
    assert _start(row_of(found["by-level"], subject="own:m")["object"]) == "0"
    one = [replace(item, factors={**item.factors, "industry": "Generated"}) for item in items.items]
    same = replace(items, items=tuple(one))
    assert "by-industry" not in _found(_run(same, {("own:m", "shots=1"): _right_on(0)}))


def test_spread_takes_off_what_levels_equally_hard_would_show() -> None:
    """Four levels, each half right of 20: no spread is observed, and none is left however they are drawn again.

    With 20, 40, 60 and 80 % of 20 right, the mean of variances p (1 - p) / 19 is (.16 + .24 + .24 + .16) / 76 =
    .010526; the observed square is .0667, which leaves .0561, a deviation of .2369.
    """

    def levels(*right: int) -> list[pd.DataFrame]:
        names = [f"c{n}" for n in range(20)]
        return [
            pd.DataFrame({"value": np.arange(20) < one, "cluster_id": names}).astype({"value": float}) for one in right
        ]

    even = spread(levels(10, 10, 10, 10), stream("test", "even"))
    assert even is not None
    assert (even.observed, even.beyond, even.low) == (0.0, 0.0, 0.0)
    assert even.high == pytest.approx((0.25 / 19 * (9.348 / 3 - 2)) ** 0.5, abs=0.01)  # 97.5 % of chi square, 3 degrees
    apart = spread(levels(4, 8, 12, 16), stream("test", "apart"))
    assert apart is not None
    assert apart.observed == pytest.approx(0.2582, abs=1e-4)
    assert apart.beyond == pytest.approx(0.2369, abs=2e-3)
    assert 0 < apart.low < apart.beyond < apart.high


def test_reasoning_gains_as_printed() -> None:
    """Section 4.2 prints +4.8 and +4.4; from Table 1 follow 4.83 and 4.41 points."""
    curves = [TABLE_1[name].curve for pair in zip(REASONING, TRADITIONAL, strict=True) for name in pair]
    assert mean_gap(eta, curves) == pytest.approx(0.0483, abs=5e-5)
    assert mean_gap(delta, curves) == pytest.approx(0.0441, abs=5e-5)
    assert mean_gap(eta, [*curves, {0: 0.5, 1: 0.4}, {0: 0.1, 1: 0.2}]) is None


def test_pairs_of_who_reasons_and_who_does_not(items: ItemSet) -> None:
    """Thinker: none of four, two, four right: eta 3/4, delta 3/4. Plain: none, one, two: eta 3/4, delta 3/8."""
    thinking = {"settings": {"model": "m", "reasoning_effort": "high"}}
    plainly = {"settings": {"model": "m", "reasoning_effort": "none"}}
    told = {"own:thinker": {"reasoning": "yes", "counterpart": "own:plain"}, "chat:m-high": thinking, "chat:m": plainly}
    thinks = {"shots=0": _right_on(), "shots=1": _right_on(0, 1), "vanilla": _right_on(0, 1, 2, 3)}
    plain = {"shots=0": _right_on(), "shots=1": _right_on(0), "vanilla": _right_on(0, 1)}
    said = {
        (subject, condition): says
        for subject, curve in {"own:thinker": thinks, "chat:m-high": plain, "own:plain": plain, "chat:m": plain}.items()
        for condition, says in curve.items()
    }
    run = _run(items, said, told)
    assert counterparts(run.card.arms) == [("own:thinker", "own:plain"), ("chat:m-high", "chat:m")]
    section = _found(run)["reasoning"]
    if section.figure is not None:
        section.figure().draw_without_rendering()
    line = row_of(section, reasons="own:thinker")
    assert (line["efficiency"], line["its"], line["effectiveness"], line["its "]) == ("75.0", "75.0", "75.0", "37.5")
    assert _start(line["difference "]) == "+37.5"
    assert _start(row_of(section, reasons="(mean of 2 pairs)")["difference "]) == "+18.8"  # halves of 37.5 and 0
    assert "reasoning" not in [section.name for section in sections(_run(items, said))]


def test_confusions_with_their_images(items: ItemSet) -> None:
    """Item 0 (cells, two classes): kind 0 is said to be kind 1. Item 2 (cells, four classes): kind 2 to be kind 3.

    In the other task nothing is confused. `kind 0` was true once with kind 1 beside it; at 0 shots nobody looks.
    """
    run = _run(items, {("own:m", "vanilla"): _right_on(1, 3), ("own:m", "shots=0"): _right_on()})
    twice = replace(items, items=(*items.items, replace(items.items[2], item_id="fast-mapping-6")))
    found = _found(run, with_figures=True)["confused"]
    assert found.table.values.tolist() == [
        ["own:m", "S/cells", "kind 0", "kind 1", 1, 1, "100"],
        ["own:m", "S/cells", "kind 2", "kind 3", 1, 1, "100"],
    ]
    again = _found(_run(twice, {("own:m", "vanilla"): _right_on(1, 3, 6)}))["confused"].table
    assert again.values.tolist()[1] == ["own:m", "S/cells", "kind 2", "kind 3", 1, 2, "50"]
    figure = found.figure()
    shown = [axes.get_images()[0].get_array()[0, 0].tolist() for axes in figure.axes if axes.get_images()]
    first = items.items[0]
    demo = next(demo for demo in first.support if demo.answer == "c1" and demo.shot == 0)
    pixels = [np.asarray(items.media.open(one))[0, 0].tolist() for one in (first.query[0], demo.media[0])]
    assert shown[:2] == pixels
    assert len(shown) == 4


def test_who_confuses_nothing_has_no_sheet(items: ItemSet) -> None:
    said: Sequence[tuple[str, str]] = [("own:m", "vanilla"), ("fake:chance", "vanilla")]
    run = _run(items, {said[0]: _right_on(0, 1, 2, 3), said[1]: _right_on()})
    assert "confused" not in _found(run)
