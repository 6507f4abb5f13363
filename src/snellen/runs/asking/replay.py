"""Tables of a killed run, made from its record without asking; its subjects are not needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from snellen.core.annotations import Annotations
from snellen.core.condition import Condition, Value, parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.prompt import Prompt, Reply
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.run_tables import read_responses, tables_are_behind
from snellen.core.storage.runfolder import ArmCard, RunCard, is_run, read_run_card
from snellen.core.subject import Base, Subject, SubjectCard, TrainingExample, with_examples
from snellen.core.suite import Suite
from snellen.runs.asking.ask import ask
from snellen.runs.asking.stopping import Unasked
from snellen.runs.planning.plan import Arm, Plan


@dataclass(frozen=True)
class _Absent(Base):
    """A subject named in `run.json` that cannot be asked. `fingerprints` are those with recorded exchanges.

    A subject fitted to examples has another fingerprint than before.
    """

    fingerprints: frozenset[str] = frozenset()

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        after = with_examples(self.card, examples)
        return replace(self, card=after) if after.fingerprint() in self.fingerprints else self

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        raise Unasked


def is_behind(root: Path) -> bool:
    """True if the folder holds a killed run: without tables, or with a record that holds more."""
    return is_run(root) and tables_are_behind(root)


def responses_of(root: Path, arms: Sequence[Arm]) -> list[Response]:
    """The responses of these arms, in the order of the arms."""
    responses = lists_by_key((response.arm_key, response) for response in read_responses(root))
    return [response for arm in arms for response in responses.get(arm.arm_key, ())]


def replay(root: Path, items: ItemSet, suite: Suite, annotations: Mapping[str, Annotations]) -> list[Response]:
    """Write the tables of a run as far as it is recorded, and return its responses.

    Declined items are not recorded, and so missing in these tables. Raises SnellenError if another process is writing
    to the run.
    """
    card = read_run_card(root)
    columns: dict[tuple[str, str], Mapping[str, Value]] = {(a.subject, a.condition): a.columns for a in card.arms}

    def resolve(condition: Condition, subject_card: SubjectCard) -> Mapping[str, Value]:
        return columns[subject_card.name, str(condition)]

    arms = _arms(root, card, suite)
    plan = Plan(
        items,
        replace(suite, resolve=resolve),
        arms,
        card.seed,
        card.limit,
        max((arm.max_items for arm in card.arms), default=0),
        annotations=annotations,
        versions=card.versions,
        is_replay=True,
    )
    return ask(root, plan)


def _arms(root: Path, card: RunCard, suite: Suite) -> list[Arm]:
    fingerprints = frozenset(exchange.key.partition("/")[0] for exchange in read_exchanges(root))
    arms = list[Arm]()
    for arm in card.arms:
        condition = parse_conditions(suite.axes, arm.condition)[0]
        if str(condition) != arm.condition:
            raise SnellenError(
                f"{root / 'run.json'}: the condition {arm.condition!r:.60} is not in the form that a run writes"
            )
        arms.append(Arm(_Absent(card_of(arm), fingerprints), condition, arm.repeat, decide=arm.decide))
    return arms


def card_of(arm: ArmCard) -> SubjectCard:
    """The card of the subject of an arm, without what no run records."""
    return SubjectCard(
        arm.subject, arm.settings, attributes=arm.attributes, role=arm.role, source=arm.source, fitted=arm.fitted
    )
