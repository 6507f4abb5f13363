"""Everything that is known of one visual ability, in one place: what `abilities/NAME.py` has to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind, Item
from snellen.core.score import Metric, Protocol
from snellen.suites.ava_bench.candidates.candidates import Curation
from snellen.suites.ava_bench.items import ItemSource, least_px, make_item
from snellen.suites.ava_bench.scenes.display_truth import DisplayQuestions
from snellen.suites.ava_bench.scenes.tabletop_truth import TabletopQuestions

NO_FACTORS: Mapping[str, str] = MappingProxyType({})
NO_MEASURES: Mapping[str, float] = MappingProxyType({})


class Levels(NamedTuple):
    """Factors of an item, and its measures."""

    factors: Mapping[str, str] = NO_FACTORS
    measures: Mapping[str, float] = NO_MEASURES


def no_levels(question: str, answer: Any, options: Sequence[str]) -> Levels:
    """Neither factors nor measures."""
    return Levels()


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedForm:
    """What the release calls the ability, and what a released question, its answer and its options say of an item.

    `levels` raises SnellenError where the options are none of this ability.
    """

    folder: str
    levels: Callable[[str, Any, Sequence[str]], Levels] = no_levels


@dataclass(frozen=True, kw_only=True, eq=False)
class FirstPartAlone:
    """What somebody does in a composite task who masters its first part alone, and what a metric gives for it."""

    description: str
    score: Callable[[Item, Metric], float]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ability:
    """One visual ability: what is asked, how it is answered, shown and scored, and how items of it come about.

    `question` is the wording, with slots in braces; `options_wording` stands before and behind the list of options.
    `requires` are the dimensions that must be seen to solve it: one, of a composite task one a part (`parts`).
    `subgroups` are the factors whose levels get results of their own, with their levels in order, or none where these
    stand by name. `balanced_by` are factors that training and testing have in the same proportions (`balance.level`).
    `boxes` are the colours of the boxes drawn, by region; with `boxes_optional` it can be asked without them, too.
    `padded` images are padded to a square; with `asks_inside_box` the inside of the red box may be shown alone.
    `meaning` says to a reader of questions what the ability is; `figure` names the paper's figure of its subgroups.

    Items are made by `curation` (real datasets), by `tabletop` or `display` (generated scenes), and of the authors'
    files (`released`); a recipe leaves out abilities that have nothing for it.
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
    boxes_optional: bool = False
    padded: bool = False
    asks_inside_box: bool = False
    meaning: str = ""
    figure: str = ""
    parts: tuple[Ability, ...] = ()
    first_part_alone: FirstPartAlone | None = None
    curation: Curation | None = None
    tabletop: TabletopQuestions | None = None
    display: DisplayQuestions | None = None
    released: ReleasedForm | None = None

    def __post_init__(self) -> None:
        """Raise SnellenError for facts that do not go together."""
        problem = ""
        if bool(self.parts) != (self.first_part_alone is not None):
            problem = "a composite task has parts, and first_part_alone; no other has either"
        elif not self.parts and not self.meaning:
            problem = "meaning is missing, which explains the ability where questions are tagged"
        elif self.tabletop is not None and self.display is not None:
            problem = "its items are generated of tabletops or of displays, not of both"
        elif self.asks_inside_box and "red" not in self.boxes:
            problem = "asks_inside_box needs a red box"
        if problem:
            file = f"abilities/{self.name.replace('-', '_')}.py"
            raise SnellenError(f"ava-bench/{self.name}: {problem}; mend {file}")

    @property
    def has_options(self) -> bool:
        """Whether an answer is one of some options."""
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
        """An item of this ability, see `items.make_item`."""
        return make_item(
            item_source,
            task=self.name,
            kind=self.kind,
            requires=self.requires,
            question=question,
            answer=answer,
            options=options,
            wrong_answers=wrong_answers,
            regions=regions,
            factors=factors,
            measures={**least_px(item_source, regions), **measures},
        )
