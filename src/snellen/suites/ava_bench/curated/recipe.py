"""The `curated` recipe: the paper's construction (sections 3.2, 3.3, A.2) on real datasets of the user's own.

    snellen build ava-bench --from curated --source data=ROOT --out SET
    snellen build ava-bench/counting --from curated --source LVIS=DIR --source CARPK=DIR --n 200 --out SET

`ROOT` holds one folder a dataset, as `snellen sources list` names them. `curation/rules.py` has every threshold,
`curation/choices/` every choice made by hand; `--source choices=DIR` replaces files of the latter by the user's own.
What was left out, by which rule, stands in the set's card and in `curation.csv` beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from snellen.compute import Progress
from snellen.core import files
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item, Media, Split
from snellen.core.itemset import ItemSet, prune_media, refuse_existing, write_itemset
from snellen.core.media import MediaFolder
from snellen.core.suite import BuildOptions
from snellen.curation.ledger import ANY_TASK
from snellen.curation.splitting import assign_sides, balance, bind_units, check_splits
from snellen.curation.steps import plan_chain
from snellen.datasets import DATASETS
from snellen.datasets.folders import ALL, recipe_folders
from snellen.datasets.inventory import Note
from snellen.suites.ava_bench.curated import (
    absolute_depth,
    action,
    colour,
    counting,
    emotion,
    fine_grained,
    localization_object,
    nearer_localization,
    ocr,
    orientation,
    proposals,
    relative_depth,
    scene,
    spatial,
    texture,
)
from snellen.suites.ava_bench.curated.candidates import Ability, Candidate, Curating, thinned
from snellen.suites.ava_bench.curated.choices import read_choices
from snellen.suites.ava_bench.curated.datasets import TASKS_OF_DATASET
from snellen.suites.ava_bench.curated.pictures import Pictures, Unusable
from snellen.suites.ava_bench.curated.rules import Rules
from snellen.suites.ava_bench.items import COMPOSITES, SUITE, TASKS, Shown
from snellen.suites.ava_bench.no_image_baselines import blind, with_chance

ABILITIES: tuple[Ability, ...] = (
    localization_object.ABILITY,
    counting.ABILITY,
    spatial.ABILITY,
    orientation.ABILITY,
    absolute_depth.ABILITY,
    relative_depth.ABILITY,
    fine_grained.ABILITY,
    colour.ABILITY,
    texture.ABILITY,
    ocr.ABILITY,
    action.ABILITY,
    emotion.ABILITY,
    scene.ABILITY,
    nearer_localization.ABILITY,
)
CHOICES = "choices"
"""What a source of the user's own reviewed files is called."""
TRAIN = 4
"""With `n`, training items for each test item."""
ONE_SIDE = "class or bin with too few pictures to have some for training and some for testing"
TWICE = "second picture of one id"
DOMAINS: Mapping[str, str] = {
    "CARPK": "Car",
    "CrowdHuman": "People",
    "VSCrowd": "People",
    "DIOR": "Remote-Sensing",
    "AID": "Remote-Sensing",
    "CUB-200-2011": "Bird",
    "FGVC-Aircraft": "Object",
    "NYU-Depth-V2": "Indoor Scene",
    "KITTI": "Outdoor Scene",
    "CURE-OR": "Indoor",
    "RAF-DB": "Human",
    "ExpW": "Human",
}
"""What Table 2 calls the domain of a dataset; all others are `Open`."""


@dataclass(frozen=True)
class Chosen:
    """A candidate with its stored picture, ready to be asked about. `unit` names the pixels of the whole picture."""

    ability: Ability
    candidate: Candidate
    picture: Media
    unit: str


@dataclass(frozen=True)
class Curated:
    """The recipe `curated`. A build by command has the paper's numbers; other rules are given in Python."""

    rules: Rules = field(default_factory=Rules)

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Tasks, seed, bound on the number of items, and every rule. What the datasets held stands in the card."""
        if proposal := proposals.find_proposal(options):
            return {"step": proposal.step.name, "seed": options.seed}
        tasks = [task for ability in wanted(options, None) for task in ability.tasks]
        return {"tasks": tasks, "seed": options.seed, "n": options.n, **asdict(self.rules)}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """How many items there will be at most, both sides together. Annotations are read, pictures are not opened."""
        if proposal := proposals.find_proposal(options):
            (step,) = options.tasks
            return {
                "suite": SUITE,
                "step": step,
                "items": "as many as there are labels, pictures or proposals",
                "steps": plan_chain(proposals.chain([proposal]), options),
            }
        steps = plan_chain(proposals.chain(), options)
        if not options.sources:
            return {"suite": SUITE, "needs": f"--source {ALL}=ROOT, or --source NAME=DIR", "items": {}, "steps": steps}
        at = self._begin(options)
        chosen = choose(options, at)
        return {
            "suite": SUITE,
            "items": {task: len(held) for ability, held in chosen for task in ability.tasks},
            "left_out": int(sum(at.ledger.dropped.values())),
            "steps": steps,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Look through all annotations, choose, open what was chosen, split, and write the items; or a step of work."""
        refuse_existing(options.out)
        at = self._begin(options)
        if proposal := proposals.find_proposal(options):
            return proposals.build_proposal(proposal, options, lambda: _folders(options), at)
        chosen = choose(options, at)
        pictures = Pictures(MediaFolder(options.out / "media"))
        ready = split_up(list(opened(chosen, pictures, options, at)), at)
        items = with_chance(list(made(ready, at)))
        if not items:
            raise SnellenError(
                f"{SUITE} --from curated: nothing is left to ask about\n{at.ledger.table().to_string(index=False)}\n"
                "look at the folders with `snellen sources check`"
            )
        check_splits(items)
        prune_media(pictures.media, items)
        files.write_text(options.out / "curation.csv", at.ledger.table().to_csv(index=False))
        return write_itemset(
            options.out,
            items,
            source="curated",
            recipe={
                **self.parameters(options),
                "sources": sorted({one.candidate.origin.source for one, _ in ready}),
                "choices": at.choices.hash,
                "media": digest(sorted({one.picture.sha256 for one, _ in ready}), 16),
            },
            provenance={"curation": at.ledger.as_card(), "balance": balances(ready), "blind": blind(items)},
            notes=_notes(options, at, items),
        )

    def _begin(self, options: BuildOptions) -> Curating:
        options.need_items(SUITE)
        refuse_unknown(options.inputs, proposals.INPUTS, f"{SUITE} --from curated: no --input")
        return Curating(self.rules, read_choices(options.sources.get(CHOICES)), options.seed)


def _folders(options: BuildOptions) -> dict[str, Path]:
    return recipe_folders(options.sources, TASKS_OF_DATASET, SUITE, (CHOICES,))


def wanted(options: BuildOptions, folders: Iterable[str] | None) -> list[Ability]:
    """The abilities to build; without any named, all of which a dataset is given (`folders`; None: whichever).

    Raises SnellenError for unknown tasks, and for named ones without a dataset.
    """
    known = [*(task for ability in ABILITIES for task in ability.tasks), *proposals.TASKS]
    refuse_unknown(options.tasks, known, f"{SUITE} --from curated: no task")
    found = []
    for ability in ABILITIES:
        named = [task for task in ability.tasks if task in options.tasks]
        there = folders is None or any(name in folders for name in ability.sources)
        if named and not there:
            raise SnellenError(
                f"{SUITE}/{named[0]}: made of {', '.join(ability.sources)}, and none of them is given; add "
                f"--source NAME=DIR"
            )
        if there and (named or not options.tasks):
            found.append(replace(ability, tasks=tuple(named) or ability.tasks, known_as=ability.name))
    return found


def choose(options: BuildOptions, at: Curating) -> list[tuple[Ability, list[Candidate]]]:
    """What every ability chooses of all scenes of its datasets. No picture is opened."""
    folders = _folders(options)
    abilities = wanted(options, folders)
    found = look_through(folders, abilities, at, options.show_progress)
    chosen = []
    for ability, held in zip(abilities, found, strict=True):
        kept = ability.choose(held, at)
        if options.n is not None:
            kept = thinned(kept, (1 + TRAIN) * options.n, ability.name, at)
        chosen.append((ability, kept))
    return chosen


def look_through(
    folders: Mapping[str, Path], abilities: Sequence[Ability], at: Curating, show_progress: bool
) -> list[list[Candidate]]:
    """The candidates of every ability. Each dataset is read once, scene by scene, for all abilities that use it."""
    found: list[list[Candidate]] = [[] for _ in abilities]
    for source, folder in folders.items():
        mine = [(held, ability) for held, ability in zip(found, abilities, strict=True) if source in ability.sources]
        if not mine:
            continue
        seen = set[str]()
        with Progress(f"reading {source}", unit="pictures", shown=show_progress) as progress:
            for scene in DATASETS.get(source).samples_and_notes(folder):
                if isinstance(scene, Note):
                    at.ledger.drop(ANY_TASK, source, f"{scene.kind}: {scene.message}", scene.location)
                elif scene.record_id in seen:
                    at.ledger.drop(ANY_TASK, source, TWICE, scene.record_id)
                else:
                    seen.add(scene.record_id)
                    for held, ability in mine:
                        held.extend(ability.look(scene, at))
                    progress.advance()
    return found


def opened(
    chosen: Sequence[tuple[Ability, Sequence[Candidate]]], pictures: Pictures, options: BuildOptions, at: Curating
) -> Iterator[Chosen]:
    """Candidates whose pictures can be read, completed by what is seen in them."""
    origins = {one.origin: None for _, held in chosen for one in held}
    with Progress("opening", unit="pictures", shown=options.show_progress) as progress:
        progress.expect(len(origins))
        pictures.load(origins, options.workers, progress.advance)
    for ability, held in chosen:
        for one in held:
            whole = pictures.of(one.origin)
            if isinstance(whole, Unusable):
                at.ledger.drop(ability.name, one.origin.source, whole.rule, whole.where)
                continue
            complete = ability.see(one, pictures.pixels(whole), at)
            if isinstance(complete, str):
                at.ledger.drop(ability.name, one.origin.source, complete, one.origin.record_id)
            else:
                yield Chosen(ability, complete, pictures.shown(complete, whole), whole.sha256)


def split_up(ready: Sequence[Chosen], at: Curating) -> list[tuple[Chosen, Split]]:
    """The side of every item; a picture is on one side whatever is asked about it, in whatever dataset it stands.

    So is a video of which frames are asked about (`Origin.one_side`). Classes and bins that would be on one side alone
    are left out.
    """
    unit = bind_units((one.unit, one.candidate.origin.undivided) for one in ready)
    units: dict[Any, list[Any]] = {}
    for one in ready:
        units.setdefault(unit[one.unit], []).append(_stratum(one))
    side = assign_sides(units, at.rules.test_share, at.rng("splits"))
    sides: dict[Any, set[Split]] = {}
    for one in ready:
        sides.setdefault(_stratum(one), set()).add(side[unit[one.unit]])
    kept = []
    for one in ready:
        if len(sides[_stratum(one)]) == 2:
            kept.append((one, side[unit[one.unit]]))
            at.ledger.keep(one.ability.name, one.candidate.origin.source)
        else:
            where = " ".join(one.candidate.stratum[1:]).strip()
            at.ledger.drop(one.ability.name, one.candidate.origin.source, ONE_SIDE, where)
    return kept


def _stratum(one: Chosen) -> tuple[str, ...]:
    return one.ability.name, *one.candidate.stratum


def made(ready: Sequence[tuple[Chosen, Split]], at: Curating) -> Iterator[Item]:
    """The items, task by task in the paper's order, in an order that tells nothing of their answers."""
    for task in (*TASKS, *COMPOSITES):
        mine = sorted(
            ((_handle(one), one, side) for one, side in ready if task in one.ability.tasks), key=lambda held: held[0]
        )
        if not mine:
            continue
        ask = mine[0][1].ability.make_item_maker(task, [one.candidate for _, one, _ in mine], at)
        for handle, one, side in mine:
            yield ask(one.candidate, _shown(handle, one, side), at.rng("asked", task, handle))


def _handle(one: Chosen) -> str:
    return digest([one.candidate.origin.handle, one.candidate.label, dict(one.candidate.truth)], 12)


def _shown(handle: str, one: Chosen, side: Split) -> Shown:
    origin = one.candidate.origin
    return Shown(
        handle=handle,
        picture=one.picture,
        cluster=f"{origin.source}/{origin.cluster or one.unit[:12]}",
        source=origin.source,
        domain=one.candidate.truth.get("domain") or DOMAINS.get(origin.source, "Open"),
        split=side,
        stimulus=one.picture.sha256[:12],
        provenance={
            "source": origin.source,
            "record": origin.record_id,
            "licence": origin.licence,
            **({"crop_px": list(one.candidate.crop)} if one.candidate.crop else {}),
        },
    )


def balances(ready: Sequence[tuple[Chosen, Split]]) -> Mapping[str, Any]:
    """For the card: how near every ability came to its share of test items."""
    names = dict.fromkeys(one.ability.name for one, _ in ready)
    return {
        name: balance(
            [one.candidate.stratum for one, _ in ready if one.ability.name == name],
            [side for one, side in ready if one.ability.name == name],
        ).as_card()
        for name in names
    }


def _notes(options: BuildOptions, at: Curating, items: Sequence[Item]) -> list[str]:
    there = {(item.task, item.factors["source"]) for item in items}
    absent = [task for task in TASKS if task not in {task for task, _ in there} and not options.tasks]
    dropped = int(sum(at.ledger.dropped.values()))
    missing = [
        f"{task} without {', '.join(gone)}"
        for ability in ABILITIES
        for task in ability.tasks
        if any(one == task for one, _ in there)
        and (gone := [source for source in ability.sources if (task, source) not in there])
    ]
    return [
        f"{dropped} things, pairs, questions or pictures were left out: curation.csv says by which rules",
        *([f"nothing was found for {', '.join(absent)}"] if absent else []),
        *missing,
    ]
