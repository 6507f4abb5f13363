"""The description of one visual ability, as each `abilities/NAME.py` gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind, Item, Option
from snellen.core.least_px import LEAST_PX
from snellen.core.score import Metric, Protocol
from snellen.suites.ava_bench.items import SUITE, VERSION, ItemSource
from snellen.suites.ava_bench.scenes.display_truth import DisplayQuestions
from snellen.suites.ava_bench.scenes.tabletop_truth import TabletopQuestions

NO_FACTORS: Mapping[str, str] = MappingProxyType({})
NO_MEASURES: Mapping[str, float] = MappingProxyType({})


def is_generated(item: Item) -> bool:
    """True for items from generated scenes, whose things in questions are the only ones of their names."""
    return bool(item.latent)


class Levels(NamedTuple):
    """The factors and measures of an item."""

    factors: Mapping[str, str] = NO_FACTORS
    measures: Mapping[str, float] = NO_MEASURES


def level_of_answer(factor: str) -> Callable[[str, Any, Sequence[str]], Levels]:
    """The answer as the level of a factor."""
    return lambda question, answer, options: Levels({factor: answer})


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedForm:
    """An ability in the released files: its folder, and the factors and measures of its items.

    `levels` takes question, answer and options, and raises SnellenError for options that are not of this ability.
    """

    folder: str
    levels: Callable[[str, Any, Sequence[str]], Levels] = lambda question, answer, options: Levels()


@dataclass(frozen=True, kw_only=True, eq=False)
class FirstPartAlone:
    """The behaviour in a composite task of a subject that masters only the first part, and its score under a metric."""

    description: str
    score: Callable[[Item, Metric], float]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ability:
    """One visual ability: its question, answer, presentation and scoring, and the sources of its items.

    `question` is the wording, with slots in braces; `options_wording` is the text before and after the list of options.
    `requires` are the dimensions that must be seen to solve it: one, or for a composite task one per part (`parts`).
    `subgroups` are the factors whose levels get separate results, with the levels in order, or no levels if they are
    sorted by name. `balanced_by` are factors with the same proportions in training and testing (`balance.level`).
    `boxes` are the colours of the boxes drawn, by region. `is_named` tells whether an item can be asked without them,
    by the names of its objects alone; this is the default with `boxes_reveal_answer`.
    `padded` images are padded to a square; with `asks_inside_box` only the inside of the red box may be shown.
    `boxes_only` answers an item by the coordinates of its drawn boxes alone, which is a floor of its scores;
    `cheap_sight` is as in `Task`.
    `meaning` explains the ability to a subject that tags questions.

    Items are made by `tabletop` or `display` (generated scenes), from the authors' files (`released`), and from real
    datasets (`CURATIONS` of `curated_sets/ava_bench/abilities`); a recipe leaves out abilities that do not support it.
    """

    name: str
    kind: AnswerKind
    question: str
    requires: tuple[str, ...]
    protocols: Mapping[str, Protocol]
    subgroups: Mapping[str, tuple[str, ...]]
    balanced_by: tuple[str, ...] = ()
    options_wording: tuple[str, str] = ("", "")
    option_labels: Literal["letters", "numbers"] = "numbers"
    boxes: tuple[str, ...] = ()
    is_named: Callable[[Item], bool] | None = None
    boxes_reveal_answer: bool = False
    padded: bool = False
    asks_inside_box: bool = False
    boxes_only: Callable[[Item], Any] | None = None
    cheap_sight: str = ""
    meaning: str = ""
    parts: tuple[Ability, ...] = ()
    first_part_alone: FirstPartAlone | None = None
    tabletop: TabletopQuestions | None = None
    display: DisplayQuestions | None = None
    released: ReleasedForm | None = None

    def __post_init__(self) -> None:
        """Raise SnellenError for contradictory fields."""
        problem = ""
        if bool(self.parts) != (self.first_part_alone is not None):
            problem = "a composite task has both parts and first_part_alone; no other task has either"
        elif not self.parts and not self.meaning:
            problem = "meaning is missing; it explains the ability when questions are tagged"
        elif self.tabletop is not None and self.display is not None:
            problem = "its items are generated from tabletops or from displays, not from both"
        elif self.asks_inside_box and "red" not in self.boxes:
            problem = "asks_inside_box needs a red box"
        if problem:
            file = f"abilities/{self.name.replace('-', '_')}.py"
            raise SnellenError(f"ava-bench/{self.name}: {problem}; fix {file}")

    @property
    def has_options(self) -> bool:
        """True if an answer is one of the offered options."""
        return self.kind == "choice"

    def item(
        self,
        item_source: ItemSource,
        question: str,
        answer: Any,
        options: Sequence[str] = (),
        *,
        wrong_answers: Sequence[Any] = (),
        regions: Mapping[str, Any] = MappingProxyType({}),
        factors: Mapping[str, str] = NO_FACTORS,
        measures: Mapping[str, float] = NO_MEASURES,
    ) -> Item:
        """An item of this ability, whose dimensions must be seen to solve it.

        `wrong_answers` has one wrong answer per dimension, if there are no options. Raises SnellenError for options
        without the answer, or with duplicates.
        """
        if options and (answer not in options or len(set(options)) != len(options)):
            raise SnellenError(
                f"ava-bench item {item_source.handle} ({self.name}): {answer!r} must be among its options, without "
                f"duplicates: {', '.join(options)}"
            )
        handle, known = f"{self.name}-{item_source.handle}", item_source.known
        wrong = [[option for option in options if option != answer]] if options else [[each] for each in wrong_answers]
        return Item(
            item_id=handle,
            suite=SUITE,
            task=self.name,
            question=question,
            query=(item_source.image,),
            answer=answer,
            answer_kind=self.kind,
            stimulus_id=item_source.stimulus or handle,
            group_id=handle,
            cluster_id=item_source.cluster,
            version=VERSION,
            split=item_source.split,
            options=tuple(Option(name, name) for name in options),
            factors={
                "source": item_source.dataset,
                **({"domain": item_source.domain} if item_source.domain else {}),
                **factors,
                **item_source.factors,
            },
            measures={**_least_px(item_source, regions), **measures, **item_source.measures},
            requires=self.requires if known else (),
            regions=dict(regions),
            latent=_latent(answer, dict(zip(self.requires, wrong, strict=True))) if known else {},
            provenance=item_source.provenance,
        )


def _latent(answer: Any, wrong_answers: Mapping[str, Sequence[Any]]) -> Mapping[str, Any]:
    """The information for ideal observers: the actual world, then worlds that differ from it in one dimension.

    `wrong_answers` are the answers in the latter, by dimension.
    """
    actual = dict.fromkeys(wrong_answers, "0")
    differing = [
        {"look": {**actual, dimension: str(n)}, "answer": wrong}
        for dimension, answers in wrong_answers.items()
        for n, wrong in enumerate(answers, 1)
    ]
    as_json = list(answer) if isinstance(answer, tuple) else answer  # as read back from JSON
    return {"worlds": [{"look": actual, "answer": as_json}, *differing]}


def _least_px(source: ItemSource, regions: Mapping[str, Any]) -> Mapping[str, float]:
    """The shortest side of a generated item's boxes, in pixels of the stored image, as a measure.

    It is empty without boxes. An ability that asks about less than its boxes hold measures it itself.
    """
    boxes = [box for box in regions.values() if len(box) == 4]
    return {LEAST_PX: min(min(x2 - x1, y2 - y1) for x1, y1, x2, y2 in boxes)} if source.known and boxes else {}
