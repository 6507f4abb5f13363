"""`snellen verify`: checking an item set, or a run with its set, for damage and for what does not follow."""

from __future__ import annotations

from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import is_itemset
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.run_digest import check_digest
from snellen.core.storage.run_tables import own_responses
from snellen.core.storage.runfolder import has_tables, is_run, read_run_card
from snellen.core.storage.seal import SEALED, read_revealed
from snellen.exam import verification as checks
from snellen.exam.omissions import left_out
from snellen.runs.scores.box_units import FILE, read_box_units
from snellen.runs.scores.judgements import judging_runs, lines_without_verdict
from snellen.runs.scores.unread import with_judged_reading
from snellen.runs.sets.gate import open_asked_items, open_items
from snellen.suites import SUITES, suite_of


def verify(address: str, rebuild: int, itemset: str | None, digest: str | None, commitment: str | None) -> int:
    """Check everything that can be checked, print a line for each check, and return the exit code.

    It is 1 if no more than hashes were checked, or if something does not follow by this version or on this machine.
    `rebuild` images are rendered again. `itemset` replaces the address of the items on a run's card. `digest` and
    `commitment` are the published ones of the run and of the seal.
    """
    path, is_replayed, is_whole = Path(address), False, True
    if is_run(path) and is_itemset(path):
        raise SnellenError(f"{address}: has the files of a run and of an item set; move either to a folder of its own")
    if is_run(path):
        items, is_replayed, is_whole = _verify_run(address, path, itemset)
        if digest is not None:
            check_digest(path, items.root, digest)
            print("digest: the run is as it was when this digest was published")
    elif digest is not None or itemset is not None:
        raise SnellenError(f"{address}: --digest and --items are for runs, and this is none")
    else:
        items = open_items(path, remember=False)
        print(f"{address}: whole; {len(items.items)} items of {items.card.suite} version {items.card.version}")
    if not checks.check_rows(items):
        print("rows_hash cannot be checked: the set has no image_recipes.parquet")
        is_whole = False
    is_revealed = _verify_seal(path, items, commitment)
    is_whole &= is_revealed or SEALED not in items.card.recipe
    words, is_compared = checks.check_blind(items, suite_of(items))
    print(f"blind.json: {words}")
    is_whole &= is_compared
    if rebuild:
        is_whole &= _verify_images(items, rebuild)
    if not (is_replayed or is_revealed or digest or rebuild):
        print("Only hashes were checked: they show damage, not who made the files, or from what.")
        return 1
    return 0 if is_whole else 1


def _verify_images(items: ItemSet, rebuild: int) -> bool:
    from snellen.stimuli.render.rebuild import BLOCK_PX, MAX_DIFFERENCE, MAX_MEAN

    count, total, largest = checks.rebuild_images(items, rebuild)
    print(
        f"{count} of {total} images were rendered again: means of 3 x 3 pixels differ by at most {largest:.1f} of 255 "
        f"levels"
    )
    if largest > MAX_MEAN:
        print(
            f"images: drawn by another renderer or processor, so only means of {BLOCK_PX} x {BLOCK_PX} pixels were "
            f"compared (allowed: {MAX_DIFFERENCE:.0f} levels); marks drawn into them may be missed"
        )
    return largest <= MAX_MEAN


def _verify_run(address: str, path: Path, itemset: str | None) -> tuple[ItemSet, bool, bool]:
    """The items of a run, whether its replies were replayed, and whether all follows by this version."""
    card = read_run_card(path)
    moved_card = card if itemset is None else card.model_copy(update={"itemset": itemset})
    items = open_asked_items(path, moved_card, SUITES.get(card.suite))
    open_items(items.root, remember=False)
    suite = with_judged_reading(suite_of(items))
    checks.check_card(path, card, items, suite)
    count = sum(1 for _ in read_exchanges(path))
    print(f"{address}: whole; {count} exchanges of {len(card.arms)} arms about {items.root}")
    if not has_tables(path):
        print("replies and scores cannot be checked: the run was interrupted before its tables were written")
        return items, False, False
    responses = own_responses(path, items, card)
    stopped = left_out(card, items, suite, responses)
    print("\n".join([*checks.count_items(card, items, responses), *stopped]))
    if not checks.is_same_parser(card):
        print("parser: of another version, or not recorded; changed readings are counted")
    replies = checks.check_replies(path, card, items, suite)
    if replies is None:
        print("replies cannot be replayed: the run uses annotation tables")
    elif replies:
        print(f"replies: {replies} responses differ when the record is replayed, perhaps another version of the parser")
    else:
        print("replies: each follows from the record, and each recorded prompt from its item")
    protocols, changed = checks.check_scores(path, card, items, suite)
    if changed:
        print(f"scores: {len(changed)} replies are read otherwise, perhaps another version of the parser; {changed[0]}")
    else:
        print(f"scores: each follows from its reply ({', '.join(protocols)})")
    unjudged = [line for protocol in protocols for line in lines_without_verdict(path, items, suite, protocol)]
    print(*unjudged, sep="\n", end="\n" * bool(unjudged))
    units = read_box_units(path)
    for subject, unit in units.items():
        print(f"{FILE}: boxes of {subject} are read in {unit}, a unit that was chosen after the run")
    is_whole = replies == 0 and not (changed or stopped or unjudged or units)
    for judge_run in judging_runs(path):
        _, is_judge_replayed, is_judge_whole = _verify_run(str(judge_run), judge_run, str(judge_run.parent / "items"))
        is_whole &= is_judge_replayed and is_judge_whole
    return items, replies is not None, is_whole


def _verify_seal(path: Path, items: ItemSet, commitment: str | None) -> bool:
    """True if the set follows from a revealed seal."""
    if commitment is not None:
        checks.check_commitment(items, commitment)
    seal = read_revealed(path) or read_revealed(items.root)
    if seal is not None:
        checks.check_seal(items, seal)
        print(f"seal: all {items.card.items} items follow from the revealed seed; commitment {seal.commitment}")
    elif SEALED in items.card.recipe:
        print(f"seal: not revealed yet, so the items cannot be checked; commitment {items.card.recipe[SEALED]}")
    return seal is not None
