"""The `curated` recipe: the paper's construction (sections 3.2, 3.3, A.2) on the user's copies of real datasets.

    snellen build ava-bench --from curated --source data=ROOT --out SET
    snellen build ava-bench/counting --from curated --source LVIS=DIR --source CARPK=DIR --n 200 --out SET

`ROOT` holds one folder per dataset, as `snellen sources list` names them. The folder `selection` of the suite has every
threshold (`rules.py`) and every choice made by hand (`choices/`); `--source choices=DIR` replaces or extends files of
the latter. The set's card and its `curation.csv` state how many candidates each rule left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from snellen.compute import Progress
from snellen.core.build_options import BuildOptions
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet, prune_media, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.ava_bench import proposals
from snellen.curated_sets.ava_bench.abilities import CURATIONS
from snellen.curated_sets.ava_bench.loosening import advise
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, CurationContext, thinned
from snellen.curated_sets.ava_bench.selection.choices import read_choices
from snellen.curated_sets.ava_bench.selection.datasets import TASKS_OF_DATASET
from snellen.curated_sets.ava_bench.selection.images import ImageStore
from snellen.curated_sets.ava_bench.selection.making import complete, make_items
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.ava_bench.selection.splits import CuratedGroup, balances, curated_groups, split_up
from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.datasets.folders import ALL, layout_notes, recipe_folders
from snellen.curated_sets.rules import changed_rules, in_words, read_rules
from snellen.curated_sets.splitting import check_splits
from snellen.curated_sets.steps import plan_chain
from snellen.curation.ledger import ANY_TASK
from snellen.datasets.sample import Note
from snellen.suites.ava_bench.abilities import atomic
from snellen.suites.ava_bench.free_answer_chance import with_chance
from snellen.suites.ava_bench.items import SUITE

CHOICES = "choices"
"""The name of the source with the user's own reviewed files."""
TRAIN = 4
"""With `n`, training items for each test item."""
TWICE = "second image of one id"


@dataclass(frozen=True)
class Curated:
    """The recipe `curated`; `--rules FILE` may change some of its rules."""

    rules: Rules = field(default_factory=Rules)

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Tasks, seed, bound on the number of items, and every rule. The contents of the datasets are in the card."""
        if proposal := proposals.find_proposal(options):
            return {"step": proposal.step.name, "seed": options.seed}
        tasks = [task for group in select_groups(options, None) for task in group.tasks]
        return {"tasks": tasks, "seed": options.seed, "n": options.n, **asdict(read_rules(options.rules, self.rules))}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """The maximum number of items, both sides together. Annotations are read, images are not opened."""
        if proposal := proposals.find_proposal(options):
            (step,) = options.tasks
            return {
                "suite": SUITE,
                "step": step,
                "items": "as many as there are labels, images or proposals",
                "steps": plan_chain(proposals.chain([proposal]), options),
            }
        steps = plan_chain(proposals.chain(), options)
        if not options.sources:
            return {"suite": SUITE, "needs": f"--source {ALL}=ROOT, or --source NAME=DIR", "items": {}, "steps": steps}
        context = self._begin(options)
        selection = select(options, context)
        return {
            "suite": SUITE,
            "items": {task: len(candidates) for group, candidates in selection for task in group.tasks},
            "left_out": int(sum(context.ledger.dropped.values())),
            "rules": [
                advice
                for group, candidates in selection
                for advice in advise(group, candidates, _folders(options), context)
            ],
            "steps": steps,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Read annotations, select, open selected images, split, and write the items; or write a proposal step."""
        refuse_existing(options.out)
        context = self._begin(options)
        if proposal := proposals.find_proposal(options):
            return proposals.build_proposal(proposal, options, lambda: _folders(options), context)
        selection = select(options, context)
        image_store = ImageStore(MediaFolder(options.out / "media"))
        ready = split_up(list(complete(selection, image_store, options, context)), context)
        items = with_chance(list(make_items(ready, context, CURATIONS)))
        if not items:
            raise SnellenError(
                f"{SUITE} --from curated: no items are left\n"
                f"{context.ledger.table().to_string(index=False)}\n"
                "check the folders with `snellen sources check`"
            )
        check_splits(items)
        prune_media(image_store.media, items)
        files.write_csv(options.out / "curation.csv", context.ledger.table())
        return write_itemset(
            options.out,
            items,
            source="curated",
            recipe={
                **self.parameters(options),
                "sources": sorted({selected.candidate.origin.source for selected, _ in ready}),
                "choices": context.choices.hash,
                "media": digest(sorted({selected.image.sha256 for selected, _ in ready}), 16),
            },
            provenance={"curation": context.ledger.as_card(), "balance": balances(ready)},
            notes=[*_notes(options, context, items), *self._rule_notes(context)],
        )

    def _rule_notes(self, context: CurationContext) -> list[str]:
        changes = changed_rules(context.rules, Rules())
        return [f"rules that differ from the paper's: {in_words(changes)}"] if changes else []

    def _begin(self, options: BuildOptions) -> CurationContext:
        options.need_items(SUITE)
        refuse_unknown(options.inputs, proposals.INPUTS, f"{SUITE} --from curated: no --input")
        return CurationContext(
            read_rules(options.rules, self.rules), read_choices(options.sources.get(CHOICES)), options.seed
        )


def _folders(options: BuildOptions) -> dict[str, Path]:
    return recipe_folders(options.sources, TASKS_OF_DATASET, SUITE, (CHOICES,))


def select_groups(options: BuildOptions, folders: Iterable[str] | None) -> list[CuratedGroup]:
    """The groups to build; without named tasks, all with a given dataset (`folders`; None for any dataset).

    Raises SnellenError for unknown tasks, and for named ones without a dataset.
    """
    groups = curated_groups(CURATIONS)
    known_tasks = [*(task for group in groups for task in group.tasks), *proposals.TASKS]
    refuse_unknown(options.tasks, known_tasks, f"{SUITE} --from curated: no task")
    selected_groups = []
    for group in groups:
        named_tasks = tuple(task for task in group.tasks if task in options.tasks)
        datasets = group.curation.datasets
        available = folders is None or any(name in folders for name in datasets)
        if named_tasks and not available:
            raise SnellenError(
                f"{SUITE}/{named_tasks[0]}: made from {', '.join(datasets)}, but none of them is given; add "
                f"--source NAME=DIR"
            )
        if available and (named_tasks or not options.tasks):
            selected_groups.append(replace(group, tasks=named_tasks or group.tasks))
    return selected_groups


def select(options: BuildOptions, context: CurationContext) -> list[tuple[CuratedGroup, list[Candidate]]]:
    """The candidates that every ability selects from its datasets. No image is opened."""
    folders = _folders(options)
    groups = select_groups(options, folders)
    selected = []
    for group, candidates in zip(groups, find_candidates(folders, groups, context, options.show_progress), strict=True):
        selection = group.curation.select(candidates, context)
        if options.n is not None:
            selection = thinned(selection, (1 + TRAIN) * options.n, group.name, context)
        selected.append((group, selection))
    return selected


def find_candidates(
    folders: Mapping[str, Path], groups: Sequence[CuratedGroup], context: CurationContext, show_progress: bool
) -> list[list[Candidate]]:
    """The candidates of every group. Each dataset is read once, scene by scene, for all abilities that use it."""
    candidates: list[list[Candidate]] = [[] for _ in groups]
    for source, folder in folders.items():
        finders = [
            (group_candidates, group.curation)
            for group_candidates, group in zip(candidates, groups, strict=True)
            if source in group.curation.datasets
        ]
        if not finders:
            continue
        record_ids = set[str]()
        with Progress(f"reading {source}", unit="images", visible=show_progress) as progress:
            for sample in DATASETS.get(source).samples_and_notes(folder):
                if isinstance(sample, Note):
                    context.ledger.drop(ANY_TASK, source, f"{sample.kind}: {sample.message}", sample.location)
                elif sample.record_id in record_ids:
                    context.ledger.drop(ANY_TASK, source, TWICE, sample.record_id)
                else:
                    record_ids.add(sample.record_id)
                    for group_candidates, curation in finders:
                        group_candidates.extend(curation.find(sample, context))
                    progress.advance()
    return candidates


def _notes(options: BuildOptions, context: CurationContext, items: Sequence[Item]) -> list[str]:
    built = {(item.task, item.factors["source"]) for item in items}
    absent = [task for task in atomic() if task not in {task for task, _ in built} and not options.tasks]
    dropped = int(sum(context.ledger.dropped.values()))
    missing = [
        f"{task} without {', '.join(absent_sources)}"
        for group in curated_groups(CURATIONS)
        for task in group.tasks
        if any(built_task == task for built_task, _ in built)
        and (absent_sources := [source for source in group.curation.datasets if (task, source) not in built])
    ]
    return [
        f"{dropped} things, pairs, questions or images were left out: curation.csv names the rules",
        *([f"nothing was found for {', '.join(absent)}"] if absent else []),
        *missing,
        *layout_notes(source for _, source in built),
    ]
