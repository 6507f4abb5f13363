"""The `curated` recipe: the paper's construction (Figure 5) on the user's datasets.

    snellen build vfm-bench/candidates --from curated --source data=ROOT --out CAND
    snellen run CAND --condition shots=0 --subject A --subject B --subject C --subject D --subject E --out VOTES
    snellen build vfm-bench/select --from curated --input votes=VOTES --out CHOSEN
    snellen build vfm-bench/review --from curated --source items=CHOSEN --out REVIEW
    snellen build vfm-bench --from curated --source items=CHOSEN --input review=CSV --out SET

and, for the axes `demos=caption` and `instruction=detailed` of any set, requests whose runs are passed to `snellen run`
as `--input captions=RUN` and `--input instructions=RUN`:

    snellen build vfm-bench/captions --from curated --source items=SET --out WORK
    snellen build vfm-bench/instructions --from curated --source items=SET --out WORK
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from snellen.compute import Progress
from snellen.core.build_options import BuildOptions
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, media_digest, prune_media, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.datasets.folders import layout_notes, recipe_folders
from snellen.curated_sets.rules import read_rules
from snellen.curated_sets.steps import ITEMS, Stage, plan_chain, read_about, write_step
from snellen.curated_sets.vfm_bench import difficulty, diversity
from snellen.curated_sets.vfm_bench.datasets import LENT, ROW_OF_DATASET
from snellen.curated_sets.vfm_bench.steps import CANDIDATES, CHAIN, FINAL, REVIEW, SELECT, SET_STEPS, read_reviewed
from snellen.curation.draws import shuffled
from snellen.curation.ledger import Ledger
from snellen.curation.steps import copy_media
from snellen.suites.vfm_bench import class_images as images
from snellen.suites.vfm_bench.class_images import ConceptTask
from snellen.suites.vfm_bench.episodes import QueryIndex, draw_episode
from snellen.suites.vfm_bench.items import LEVELS, STREAMS, SUITE, TASK, episode_item
from snellen.suites.vfm_bench.published import TABLE_7, TABLE_8
from snellen.suites.vfm_bench.transforms import with_mean_regions

MAX_IMAGES, MAX_CLASSES = 60, 20
"""Maximum images per class, all of them queries (the paper: more than 30,000 of 512 concepts), and maximum classes per
task (Table 7: averages up to 13.4; with five demos each, twenty classes make a prompt of 101 images)."""
VOTES = "votes"
STEPS = (CANDIDATES.name, SELECT.name, *SET_STEPS, TASK)


@dataclass(frozen=True)
class Curated:
    """A curation by these numbers: the paper's, or ours if it has none. `--rules` and `--encoder` may change them.

    `images_a_class`, `classes_a_task`: see `MAX_IMAGES`. A candidate is difficult if fewer than the share
    `difficulty_below` of judges was right and at least `min_judges` answered. `encoder` (a name after `encoder:`)
    encodes the difficult candidates, `queries_an_industry` is the number of clusters without `--n`, and `random_state`
    the seed of k-means.
    """

    images_a_class: int = MAX_IMAGES
    classes_a_task: int = MAX_CLASSES
    difficulty_below: float = difficulty.MAX_RIGHT
    min_judges: int = difficulty.MIN_JUDGES
    encoder: str = diversity.ENCODER
    queries_an_industry: int = diversity.PER_INDUSTRY
    random_state: int = diversity.RANDOM_STATE

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """The step, seed and count, and the numbers above. The card also names the sources."""
        return {"step": step_of(options), "seed": options.seed, "n": options.n, **asdict(self._changed(options))}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """The number of items, an upper limit if images, answers or decisions may drop some, and the steps."""
        step = step_of(options)
        chain: tuple[Stage, ...] = CHAIN
        if step in SET_STEPS and step != REVIEW.name:
            chain = (SET_STEPS[step],)
        return {"suite": SUITE, **self._changed(options)._counts(options, step), "steps": plan_chain(chain, options)}

    def _changed(self, options: BuildOptions) -> Curated:
        rules = read_rules(options.rules, self)
        return replace(rules, encoder=options.encoder) if options.encoder else rules

    def _counts(self, options: BuildOptions, step: str) -> Mapping[str, Any]:
        if step == CANDIDATES.name:
            draws = self._draw(options, Ledger())
            count = sum(len(draw.samples) for classes in draws.values() for draw in classes.values())
            return {
                "tasks": len(draws),
                "concepts": sum(map(len, draws.values())),
                "items": {step: count if options.n is None else min(count, options.n)},
            }
        if step in SET_STEPS:
            return {"items": {step: len(SET_STEPS[step].make_items(_items(options, step)))}}
        if ITEMS in options.sources:
            return {"items": {TASK: _items(options, step).card.items}}
        if VOTES not in options.inputs:
            return {"needs": CANDIDATES.how_to, "items": {}}
        votes = _votes(options)
        scores = difficulty.read_scores(votes, self.difficulty_below, self.min_judges, Ledger())
        hard = diversity.by_industry([votes.items.by_id[item_id] for item_id in scores])
        counts = {name: len(items) for name, items in hard.items()}
        shares = diversity.shares(counts, options.n, self.queries_an_industry)
        return {"items": {TASK: sum(shares.values())}, "industries": shares}

    def build(self, options: BuildOptions) -> ItemSet:
        """Write one step or the final items. Raises SnellenError for missing or unsuitable inputs."""
        step = step_of(options)
        refuse_existing(options.out)
        rules = self._changed(options)
        if step == CANDIDATES.name:
            return rules._build_candidates(options)
        if step in SET_STEPS:
            note = "the released captions cover the demos of the first two shots; here all demos are captioned"
            notes = [note] if step == "captions" else []
            return write_step(SET_STEPS[step], _items(options, step), options.out, notes)
        return rules._build_reviewed(options) if ITEMS in options.sources else rules._build_chosen(options)

    def _draw(self, options: BuildOptions, ledger: Ledger) -> images.Draws:
        folders = recipe_folders(options.sources, ROW_OF_DATASET, SUITE)
        records = (record for name, path in folders.items() for record in DATASETS.get(name).samples(path))
        draws = images.draw_records(records, tuple(folders), self.images_a_class, options.seed, LENT)
        return images.keep_classes(draws, self.classes_a_task, options.seed, ledger)

    def _build_candidates(self, options: BuildOptions) -> ItemSet:
        media, ledger = MediaFolder(options.out / "media"), Ledger()
        draws = self._draw(options, ledger)
        with Progress("reading", unit="images", visible=options.show_progress) as progress:
            progress.expect(sum(len(draw.samples) for classes in draws.values() for draw in classes.values()))
            tasks = images.read_tasks(
                draws, media, ledger, options.workers, progress.advance, row_of_source=ROW_OF_DATASET
            )
        if not tasks:
            reasons = "; ".join(ledger.notes(images.UNIT)) or "no record was found"
            raise SnellenError(
                f"{CANDIDATES.target}: no task has two classes with six images each ({reasons}); check the folders "
                f"with "
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
                "sources": sorted(recipe_folders(options.sources, ROW_OF_DATASET, SUITE)),
                "media": media_digest(items),
            },
            notes=[
                "candidates, not yet selected: judges answer them without examples (shots=0)",
                *ledger.notes(images.UNIT),
                *count_lines(items),
            ],
        )

    def _build_chosen(self, options: BuildOptions) -> ItemSet:
        votes, ledger = _votes(options), Ledger()
        scores = difficulty.read_scores(votes, self.difficulty_below, self.min_judges, ledger)
        hard = [item for item in votes.items.items if item.item_id in scores]
        chosen = diversity.choose(
            hard,
            lambda media: diversity.encode_images(self.encoder, media, votes.items.media, options.show_progress),
            options.n,
            self.queries_an_industry,
            self.random_state,
            options.workers,
        )
        subjects = sorted({*votes.judges, f"encoder:{self.encoder}"})
        items = [diversity.with_score(item, scores[item.item_id], subjects) for item in chosen]
        notes = [
            *history(votes.items),
            f"difficulty: {len(hard)} of {votes.items.card.items} candidates kept, {len(votes.judges)} judges "
            f"({', '.join(votes.judges)})",
            *ledger.notes(difficulty.UNIT),
            f"diversity: {len(chosen)} of {len(hard)} chosen, k-means on features of encoder:{self.encoder}",
            f"not reviewed; {REVIEW.how_to}",
            *count_lines(items),
        ]
        return self._write_final(options, items, votes.items, {VOTES: votes.hash}, notes)

    def _build_reviewed(self, options: BuildOptions) -> ItemSet:
        path = REVIEW.result_path(options, SUITE, "CSV or RUN")
        items, ledger = _items(options, TASK), Ledger()
        verdicts = read_reviewed(path, items)
        reviewed = verdicts.apply(items.items, ledger, "items")
        if not reviewed:
            raise SnellenError(f"{path}: keeps none of {items.card.items} items")
        notes = [
            *history(items),
            f"review by {verdicts.author}: {len(reviewed)} of {items.card.items} kept",
            *ledger.notes("items"),
            *count_lines(reviewed),
        ]
        return self._write_final(options, reviewed, items, {REVIEW.name: verdicts.hash}, notes)

    def _write_final(
        self,
        options: BuildOptions,
        items: list[Item],
        source_items: ItemSet,
        answers: Mapping[str, str],
        notes: list[str],
    ) -> ItemSet:
        copy_media(items, source_items.media, MediaFolder(options.out / "media"))
        subjects = {name for item in items for name in item.provenance.get("construction_subjects", ())}
        return write_itemset(
            options.out,
            with_mean_regions(items),
            source="curated",
            recipe={**self.parameters(options), "made_from": source_items.card.content_hash, "answers": dict(answers)},
            provenance={"construction_subjects": sorted(subjects)},
            notes=notes,
        )


def step_of(options: BuildOptions) -> str:
    """The step to build; without a task, the final items.

    Raises SnellenError for unknown or several steps, unused sources and inputs, and `--n` below 1.
    """
    step = options.tasks[0] if options.tasks else TASK
    refuse_unknown([step], STEPS, f"{SUITE} --from curated: no step")
    if len(options.tasks) > 1:
        raise SnellenError(f"{SUITE} --from curated: build one step at a time, not {', '.join(options.tasks)}")
    options.need_items(SUITE)
    if step == TASK and REVIEW.name in options.inputs and ITEMS not in options.sources:
        raise SnellenError(
            f"{SUITE}: a review is about selected items; build them with `{SELECT.commands()[0]}`, then give --source "
            f"{ITEMS}=CHOSEN with --input {REVIEW.name}, and no --input {VOTES}"
        )
    chooses = step == SELECT.name or (step == TASK and ITEMS not in options.sources)
    if step != CANDIDATES.name:
        _refuse_others(step, "--source", options.sources, "" if chooses else ITEMS)
    _refuse_others(step, "--input", options.inputs, VOTES if chooses else REVIEW.name if step == TASK else "")
    return step


def _refuse_others(step: str, option: str, names: Iterable[str], expected: str) -> None:
    if odd := next((name for name in names if name != expected), None):
        takes = f"only {option} {expected}=PATH" if expected else f"no {option}"
        raise SnellenError(f"{SUITE}/{step} --from curated: does not use {option} {odd!r}; it takes {takes}")


def _votes(options: BuildOptions) -> difficulty.Votes:
    return difficulty.read_votes(CANDIDATES.result_path(options, SUITE))


def _items(options: BuildOptions, step: str) -> ItemSet:
    return read_about(SET_STEPS.get(step, FINAL), options)


def history(items: ItemSet) -> list[str]:
    """The notes of earlier stages: items left out, and numbers kept. Notes with counts are outdated and dropped."""
    return [
        note for note in items.card.notes if " left out, " in note or note.startswith(("difficulty:", "diversity:"))
    ]


class EpisodeCounts(NamedTuple):
    """Queries, tasks, classes over all tasks, and the mean number of classes per query."""

    queries: int
    tasks: int
    classes: int
    mean_classes: float

    def __str__(self) -> str:
        total = f"{self.queries} queries, {self.tasks} tasks, {self.classes} concepts"
        return f"{total}, {self.mean_classes:.2f} classes per query"


def count(items: Sequence[Item]) -> EpisodeCounts:
    """The counts of one or more items."""
    classes = {(item.factors["concept_task"], option.text) for item in items for option in item.options}
    mean_classes = sum(len(item.options) for item in items) / len(items)
    return EpisodeCounts(len(items), len({item.factors["concept_task"] for item in items}), len(classes), mean_classes)


def count_lines(items: Sequence[Item]) -> list[str]:
    """Lines for the card: by industry (Table 8), by concept level, notes on layouts, by source (Table 7)."""
    notes = []
    for name, row in TABLE_8.items():
        of_industry = [item for item in items if item.factors["industry"] == name]
        paper = EpisodeCounts(row.samples, row.tasks, row.concepts, row.average)
        notes.append(f"{name}: {count(of_industry) if of_industry else 'none'} (Table 8: {paper})")
    for level in LEVELS:
        of_level = [item for item in items if item.factors["concept_level"] == level]
        printed = sum(row.samples for row in TABLE_7 if row.level == level)
        notes.append(f"level {level}: {len(of_level)} queries (Table 7: {printed})")
    sources = sorted({item.factors["source"] for item in items})
    notes.extend(layout_notes(sources))
    for source in sources:
        of_source = [item for item in items if item.factors["source"] == source]
        rows = [row for row in TABLE_7 if _letters(row.name) == _letters(source)]
        paper_rows = "; ".join(
            f"{row.industry}, {row.level}: {EpisodeCounts(row.samples, row.objects, row.classes, row.average)}"
            for row in rows
        )
        first = of_source[0].factors
        notes.append(
            f"{source}, {first['industry']}, {first['concept_level']}: {count(of_source)} "
            f"(Table 7: {paper_rows or 'absent'})"
        )
    return notes


def _letters(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def draw_queries(tasks: Sequence[ConceptTask], n: int | None, seed: int) -> list[QueryIndex]:
    """All images of all classes, or `n` of them, in an order drawn from the seed."""
    queries = [
        QueryIndex(t, truth, query)
        for t, task in enumerate(tasks)
        for truth, concept in enumerate(task.classes)
        for query in range(len(concept.images))
    ]
    return shuffled(queries, stream(SUITE, STREAMS, seed, "candidates"))[:n]


def episode_items(tasks: Sequence[ConceptTask], seed: int, n: int | None = None) -> list[Item]:
    """The items, numbered in their random order, so that ids reveal nothing."""
    queries = draw_queries(tasks, n, seed)
    digits = max(5, len(str(len(queries))))
    return [
        episode_item(draw_episode(tasks[query.task], query, f"{k:0{digits}d}", seed)) for k, query in enumerate(queries)
    ]
