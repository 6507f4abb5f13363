"""The `curated` recipe: the paper's construction (Figure 5) on real datasets of the user's own.

    snellen build vfm-bench/candidates --from curated --source data=ROOT --out CAND
    snellen run CAND --condition shots=0 --subject A --subject B --subject C --subject D --subject E --out VOTES
    snellen build vfm-bench/select --from curated --input votes=VOTES --out CHOSEN
    snellen build vfm-bench/review --from curated --source items=CHOSEN --out REVIEW
    snellen build vfm-bench --from curated --source items=CHOSEN --input review=CSV --out SET

and, for the axes `demos=caption` and `instruction=detailed` of any set, work whose runs are given to `snellen run` as
`--input captions=RUN` and `--input instructions=RUN`:

    snellen build vfm-bench/captions --from curated --source items=SET --out WORK
    snellen build vfm-bench/instructions --from curated --source items=SET --out WORK
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from snellen.compute import Progress
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.itemset import ItemSet, prune_media, read_itemset, refuse_existing, write_itemset
from snellen.core.media import MediaFolder
from snellen.core.suite import BuildOptions
from snellen.datasets.folders import given_folders
from snellen.suites.vfm_bench.curated import difficulty, diversity, steps
from snellen.suites.vfm_bench.curated.counts import counted
from snellen.suites.vfm_bench.curated.datasets import DATASETS
from snellen.suites.vfm_bench.curated.episodes import episode_items
from snellen.suites.vfm_bench.curated.pictures import (
    Draws,
    Dropped,
    draw_records,
    keep_classes,
    read_records,
    read_tasks,
)
from snellen.suites.vfm_bench.items import SUITE, TASK
from snellen.suites.vfm_bench.transforms import with_mean_regions

MAX_PICTURES, MAX_CLASSES = 60, 20
"""Pictures drawn of a class, all of them asked about (the paper: more than 30,000 of 512 concepts), and classes of a
task (Table 7: 13.4 at most, on average; with five demos each, twenty make a prompt of 101 pictures)."""
CANDIDATES, SELECT, ITEMS, VOTES, REVIEW = "candidates", "select", "items", "votes", "review"
WORK: Mapping[str, Callable[[ItemSet], list[Item]]] = {
    REVIEW: steps.review_items,
    "captions": steps.caption_items,
    "instructions": steps.instruction_items,
}
"""Steps that subjects or people answer about the items of a set."""
LEFT_OUT = "pictures, classes or tasks"
STEPS = (CANDIDATES, SELECT, *WORK, TASK)


@dataclass(frozen=True)
class Curated:
    """The recipe `curated`, with the paper's numbers; where the paper has none, ours.

    `pictures_a_class`, `classes_a_task`: see `MAX_PICTURES`. A candidate is difficult if a share of judges below
    `difficulty_below` was right, of at least `fewest_judges` that answered. `encoder` (a name after `encoder:`) looks
    at what is left, `queries_an_industry` is the number of clusters unless `--n` says otherwise, `random_state` the
    seed of k-means. A build by command has the paper's numbers; others are given in Python.
    """

    pictures_a_class: int = MAX_PICTURES
    classes_a_task: int = MAX_CLASSES
    difficulty_below: float = difficulty.BELOW
    fewest_judges: int = difficulty.MIN_JUDGES
    encoder: str = diversity.ENCODER
    queries_an_industry: int = diversity.AN_INDUSTRY
    random_state: int = diversity.RANDOM_STATE

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """The step, seed and count, and the numbers above. What it was made from stands beside them in the card."""
        return {"step": step_of(options), "seed": options.seed, "n": options.n, **asdict(self)}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """How many items there will be, at most where pictures, answers or decisions may drop some."""
        step = step_of(options)
        if step == CANDIDATES:
            drawn = self._drawn(options, Dropped())
            count = sum(len(draw.samples) for classes in drawn.values() for draw in classes.values())
            return {
                "suite": SUITE,
                "tasks": len(drawn),
                "concepts": sum(map(len, drawn.values())),
                "items": {step: count if options.n is None else min(count, options.n)},
            }
        if step in WORK:
            return {"suite": SUITE, "items": {step: len(WORK[step](_items(options, step)))}}
        if ITEMS in options.sources:
            return {"suite": SUITE, "items": {TASK: _items(options, step).card.items}}
        votes = _votes(options)
        kept = difficulty.scores(votes, self.difficulty_below, self.fewest_judges, Dropped())
        hard = diversity.divided([votes.items.by_id[item_id] for item_id in kept])
        wanted = diversity.shares({name: len(held) for name, held in hard.items()}, options.n, self.queries_an_industry)
        return {"suite": SUITE, "items": {TASK: sum(wanted.values())}, "industries": wanted}

    def build(self, options: BuildOptions) -> ItemSet:
        """One step, or the final items. Raises SnellenError for whatever is missing or does not fit."""
        step = step_of(options)
        refuse_existing(options.out)
        if step == CANDIDATES:
            return self._candidates(options)
        if step in WORK:
            return self._work(options, step)
        return self._reviewed(options) if ITEMS in options.sources else self._chosen(options)

    def _drawn(self, options: BuildOptions, dropped: Dropped) -> Draws:
        folders = given_folders(options.sources, DATASETS, SUITE)
        drawn = draw_records(read_records(folders), tuple(folders), self.pictures_a_class, options.seed)
        return keep_classes(drawn, self.classes_a_task, options.seed, dropped)

    def _candidates(self, options: BuildOptions) -> ItemSet:
        media, dropped = MediaFolder(options.out / "media"), Dropped()
        drawn = self._drawn(options, dropped)
        with Progress("reading", unit="pictures", shown=options.show_progress) as progress:
            progress.expect(sum(len(draw.samples) for classes in drawn.values() for draw in classes.values()))
            tasks = read_tasks(drawn, media, dropped, options.workers, progress.advance)
        if not tasks:
            told = "; ".join(dropped.notes(LEFT_OUT)) or "no record was found"
            raise SnellenError(
                f"{SUITE}/{CANDIDATES}: no task has two classes of six pictures ({told}); look at the folders with "
                "`snellen sources check`"
            )
        items = with_mean_regions(episode_items(tasks, options.seed, options.n))
        prune_media(media, items)
        return write_itemset(
            options.out,
            items,
            source="curated",
            recipe={
                **self.parameters(options),
                "sources": sorted(given_folders(options.sources, DATASETS, SUITE)),
                "media": digest(sorted({one.sha256 for item in items for one in item.media()}), 16),
            },
            notes=[
                "candidates, not yet chosen: judges answer them without examples (shots=0)",
                *dropped.notes(LEFT_OUT),
                *counted(items),
            ],
        )

    def _chosen(self, options: BuildOptions) -> ItemSet:
        votes, dropped = _votes(options), Dropped()
        scores = difficulty.scores(votes, self.difficulty_below, self.fewest_judges, dropped)
        hard = [item for item in votes.items.items if item.item_id in scores]
        chosen = diversity.choose(
            hard,
            lambda pictures: diversity.encoded(self.encoder, pictures, votes.items.media, options.show_progress),
            options.n,
            self.queries_an_industry,
            self.random_state,
            options.workers,
        )
        subjects = sorted({*votes.judges, f"encoder:{self.encoder}"})
        items = [diversity.marked(item, scores[item.item_id], subjects) for item in chosen]
        notes = [
            *history(votes.items),
            f"difficulty: {len(hard)} of {votes.items.card.items} candidates kept, {len(votes.judges)} judges "
            f"({', '.join(votes.judges)})",
            *dropped.notes("candidates"),
            f"diversity: {len(chosen)} of {len(hard)} chosen, k-means on features of encoder:{self.encoder}",
            f"not reviewed; {steps.REVIEW_COMMANDS}",
            *counted(items),
        ]
        return self._final(options, items, votes.items, {VOTES: votes.hash}, notes)

    def _reviewed(self, options: BuildOptions) -> ItemSet:
        if REVIEW not in options.inputs:
            raise SnellenError(f"{SUITE}: --input {REVIEW}=CSV or RUN is missing; {steps.REVIEW_COMMANDS}")
        items, dropped = _items(options, TASK), Dropped()
        review = steps.read_reviewed(options.inputs[REVIEW], items)
        kept = steps.reviewed(items.items, review, dropped)
        if not kept:
            raise SnellenError(f"{options.inputs[REVIEW]}: keeps none of {items.card.items} items")
        notes = [
            *history(items),
            f"review by {review.author}: {len(kept)} of {items.card.items} kept",
            *dropped.notes("items"),
            *counted(kept),
        ]
        return self._final(options, kept, items, {REVIEW: review.hash}, notes)

    def _final(
        self, options: BuildOptions, items: list[Item], source: ItemSet, answers: Mapping[str, str], notes: list[str]
    ) -> ItemSet:
        steps.copy_media(items, source.media, MediaFolder(options.out / "media"))
        subjects = {one for item in items for one in item.provenance.get("construction_subjects", ())}
        return write_itemset(
            options.out,
            with_mean_regions(items),
            source="curated",
            recipe={**self.parameters(options), "made_from": source.card.content_hash, "answers": dict(answers)},
            provenance={"construction_subjects": sorted(subjects)},
            notes=notes,
        )

    def _work(self, options: BuildOptions, step: str) -> ItemSet:
        items = _items(options, step)
        work = WORK[step](items)
        if not work:
            raise SnellenError(f"{items.root}: no item shows a demo picture, so there is nothing to caption")
        steps.copy_media(work, items.media, MediaFolder(options.out / "media"))
        return write_itemset(
            options.out,
            work,
            source=step,
            recipe={"about": items.card.content_hash, "step": step},
            notes=["the released captions are of the demos of the first two shots; here all"]
            if step == "captions"
            else [],
        )


def step_of(options: BuildOptions) -> str:
    """What is to be built; without a task the final items.

    Raises SnellenError for unknown steps, several, sources and inputs that the step has no use for, and `--n` below 1.
    """
    step = options.tasks[0] if options.tasks else TASK
    refuse_unknown([step], STEPS, f"{SUITE} --from curated: no step")
    if len(options.tasks) > 1:
        raise SnellenError(f"{SUITE} --from curated: one step at a time, {', '.join(options.tasks)} are several")
    options.need_items(SUITE)
    if step == TASK and REVIEW in options.inputs and ITEMS not in options.sources:
        choosing = f"`snellen build {SUITE}/{SELECT} --from curated --input {VOTES}=VOTES --out CHOSEN`"
        raise SnellenError(
            f"{SUITE}: a review is of chosen items; make them with {choosing}, then give --source {ITEMS}=CHOSEN with "
            f"--input {REVIEW}, and no --input {VOTES}"
        )
    chooses = step == SELECT or (step == TASK and ITEMS not in options.sources)
    if step != CANDIDATES:
        _only(step, "--source", options.sources, "" if chooses else ITEMS)
    _only(step, "--input", options.inputs, VOTES if chooses else REVIEW if step == TASK else "")
    return step


def _only(step: str, what: str, given: Iterable[str], known: str) -> None:
    if odd := next((name for name in given if name != known), None):
        takes = f"{what} {known}=PATH alone" if known else f"no {what}"
        raise SnellenError(f"{SUITE}/{step} --from curated: no use for {what} {odd!r}; it takes {takes}")


def _votes(options: BuildOptions) -> difficulty.Votes:
    if VOTES not in options.inputs:
        raise SnellenError(f"{SUITE}: --input {VOTES}=VOTES is missing; {difficulty.COMMANDS}")
    return difficulty.read_votes(options.inputs[VOTES])


def _items(options: BuildOptions, step: str) -> ItemSet:
    if ITEMS not in options.sources:
        raise SnellenError(
            f"{SUITE}/{step}: --source {ITEMS}=ITEMSET is missing, the set it is about; any set of {SUITE} will do"
        )
    items = read_itemset(options.sources[ITEMS])
    if items.card.suite != SUITE:
        raise SnellenError(f"{items.root}: a set of {items.card.suite}, not of {SUITE}")
    return items


def history(items: ItemSet) -> list[str]:
    """What the card says of earlier stages: what was left out, and the numbers kept. Its counts are no longer true."""
    return [
        note for note in items.card.notes if " left out, " in note or note.startswith(("difficulty:", "diversity:"))
    ]
