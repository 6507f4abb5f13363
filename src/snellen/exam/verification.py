"""Verifying an item set or a run: hashes, seal, items made again, images, replies, scores, and the published digest.

Each check raises SnellenError about the first thing that does not agree.
"""

from __future__ import annotations

import json
import math
import secrets
import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from snellen.analysis.blind import measure_by_folds
from snellen.analysis.units import metric_of
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.hashing import canonical
from snellen.core.response import Response
from snellen.core.seeds import stream
from snellen.core.storage import files
from snellen.core.storage.item_rows import decided_hashes, decided_rows, read_image_recipes
from snellen.core.storage.itemset import ItemSet, counts_of, items_files, recipe_hash
from snellen.core.storage.itemset_cards import BlindCard, BlindScore
from snellen.core.storage.parts import part_files
from snellen.core.storage.run_tables import SENT, read_responses, read_sent, sent_parts
from snellen.core.storage.runfolder import RunCard, read_run_card
from snellen.core.storage.seal import SEALED, Seal
from snellen.core.storage.user_files import MAX_LIST_BYTES, read_file
from snellen.core.storage.versions import PARSER, versions
from snellen.core.suite import Suite, settle
from snellen.exam.sealing import built_again, planned_items, planned_recipe, refuse_other_seal
from snellen.runs.asking.replay import card_of, replay
from snellen.runs.scores.blind import recipe_card
from snellen.runs.scores.judgements import scores_of
from snellen.runs.scores.score import own_scores
from snellen.runs.scores.unread import with_judged_reading
from snellen.runs.sets.gate import open_asked_items
from snellen.suites import SUITES, suite_of

READ = frozenset(("prediction", "outcome", "form", "value"))
"""Columns of scores that depend on how a reply is read."""
Key: TypeAlias = tuple[str, str, str, str, str]
TOLERANCE = 1e-9
"""Largest relative or absolute difference of a score computed again, since processors differ in the last digits."""
BLIND_TOLERANCE = 1e-4
"""Difference of a blind score measured again that needs an explanation.

Measured with the machine code of five processors: no score of ComBo, VFM-Bench and AVA-Bench differed, and 51 to 84 of
561 of VLM2-Bench's, by at most four items, since attackers that are equally good are chosen by the last digits.
"""
BLIND_SECONDS, ITEM_SECONDS = 60.0, 0.02
"""Time for measuring blind scores again, and the time expected per item (measured: 0.001 to 0.04).

More than 26 options are compared with each other, texts beyond 2000 characters have many words, and each word of the
question has a feature with each option.
"""


def check_rows(items: ItemSet) -> bool:
    """Compare the card's counts, recipe, rows and recipes of images with its hashes; False if it cannot."""
    card = items.card
    if card.recipe_hash != recipe_hash(card.suite, card.version, card.source, card.recipe):
        raise SnellenError(f"{items.root / card.file}: the recipe does not match recipe_hash; build the set again")
    if items.card.counts != counts_of(items.items):
        raise SnellenError(f"{items.root / items.card.file}: other counts than those of its items; build it again")
    recipes = read_image_recipes(items.root)
    if items.card.source == "generated" and "render" in card.provenance and not recipes:
        return False
    for path, part in zip(items_files(items.root, card), card.instalments or (card,), strict=True):
        whole, of_test = decided_hashes(files.rows_of(files.read_table(path)), recipes)
        for name, own in (("rows_hash", whole), ("test_hash", of_test)):
            if getattr(part, name) not in ("", own):
                raise SnellenError(
                    f"{path}: the rows and the recipes of the images do not match the card ({name}); build or copy "
                    "the item set again"
                )
    return True


def check_seal(items: ItemSet, seal: Seal) -> None:
    """Make all items of a revealed set again, without drawing images, and compare every decided field exactly."""
    refuse_other_seal(seal, items.root)
    card, path, most = items.card, items.root / items.card.file, 10 * items.card.items  # recipes round n down
    is_same = (seal.suite, seal.version, seal.recipe) == (card.suite, card.version, card.source)
    if is_same and ((seal.parameters.n or 0) > most or planned_items(seal) > most):  # making them could take for ever
        raise SnellenError(f"{path}: has {card.items} items, and the revealed seal asks for more than {most}")
    if not is_same or canonical(card.recipe) != canonical(planned_recipe(seal)):
        raise SnellenError(f"{path}: the recipe is not that of the revealed seal; restore the file that was changed")
    with built_again(seal) as again:
        if read_image_recipes(again.root) and not read_image_recipes(items.root):
            raise SnellenError(f"{items.root}: a sealed set without image_recipes.parquet; restore it")
        stored = files.rows_of(files.read_table(items.root / "items.parquet"))
        own_hash = decided_hashes(stored, read_image_recipes(items.root))[0]
        if {own_hash, card.rows_hash} != {again.card.rows_hash}:
            raise SnellenError(f"{items.root / 'items.parquet'}: {_first_difference(items, again)}")


def check_blind(items: ItemSet, suite: Suite) -> tuple[str, bool]:
    """Compare `blind.json` with the scores of the recipe, or measure it again; in words, and whether all is equal.

    Tasks that would take more than `BLIND_SECONDS` in all are not compared. Better scores of a subject without images
    are accepted, but do not count as equal. Raises SnellenError unless the others agree.
    """
    stored, path = items.blind, items.root / BlindCard.file
    if stored is None:
        return f"missing, so that grades start at chance; `snellen blind-baseline {items.root}` measures it", False
    packaged = recipe_card(suite, items.card.recipe) if items.card.source == "generated" else None
    if packaged is not None:
        is_equal = stored == packaged
        words = "the scores of the recipe" if is_equal else "not the scores that this version has for the recipe"
        return words, is_equal
    if len(items.card.instalments) > 1:
        return "not compared, since the set had fewer instalments when they were measured", False
    measured, left_out = _measured(items, suite)
    scores = {score.key: score for score in stored.scores}
    odd = [key for key in scores.keys() - measured.keys() if key[0] not in left_out]
    odd += [key for key, count in Counter(score.key for score in stored.scores).items() if count > 1]
    better, changed = 0, 0
    for key, score in measured.items():
        metric = metric_of(suite.tasks[score.task].protocols[score.protocol], score.metric)
        own = scores.get(key, score.model_copy(update={"value": score.chance or 0.0}))
        low, high = metric.bounds or (0.0, abs(score.value) or 1.0)
        gap = abs(own.value - score.value) / (high - low)
        if metric.sign * (own.value - score.value) > 0 and "without images" in stored.method:
            better += gap > BLIND_TOLERANCE
            continue
        changed += not gap <= BLIND_TOLERANCE  # also NaN
        is_near = gap <= min(0.5, max(4.5 / score.n, 0.5 / math.sqrt(score.n)))
        if not (is_near and own.n == score.n and _is_same(own.chance, score.chance)):
            odd.append(key)
    if odd or stored.floors or 2 * changed > len(measured):
        what = " ".join(filter(None, min(odd))) if odd else f"{changed} of {len(measured)} scores"
        raise SnellenError(
            f"{path}: {what}: this machine measured another score; measure it anew: snellen blind-baseline {items.root}"
        )
    words = f"{len(measured)} scores were measured again"
    words += f", {changed} of them differ by a few items, as on another processor" if changed else ""
    words += f"; {better} are those of a subject without images, which were not compared" if better else ""
    words += f"; not compared, since it would take over a minute: {', '.join(sorted(left_out))}" if left_out else ""
    return words, not (changed or better or left_out)


def _measured(items: ItemSet, suite: Suite) -> tuple[dict[Key, BlindScore], set[str]]:
    """Blind scores measured again, and the tasks that are left out since they would take too long."""
    tasks = lists_by_key((item.task, item) for item in items.items)
    measured, left_out, end = dict[Key, BlindScore](), set[str](), time.monotonic() + BLIND_SECONDS
    for task, of_task in sorted(tasks.items(), key=lambda pair: len(pair[1])):
        texts = ((item, len(item.question), sum(len(option.text) for option in item.options)) for item in of_task)
        sizes = (max(1.0, (len(item.options) / 120) ** 2, n / 2000, n * m / 5e6) for item, n, m in texts)
        if time.monotonic() + sum(sizes) * ITEM_SECONDS > end:
            left_out.add(task)
        else:
            measured |= {score.key: score for score in measure_by_folds(of_task, suite)}
    return measured, left_out


def _first_difference(items: ItemSet, again: ItemSet) -> str:
    rows, rebuilt_rows = (
        decided_rows(files.rows_of(files.read_table(root / "items.parquet")), read_image_recipes(root))
        for root in (items.root, again.root)
    )
    for row, other in zip(rows, rebuilt_rows, strict=False):
        if names := ", ".join(name for name in row if row[name] != other.get(name)):
            return f"item {row['item_id']!r} is not the one that the revealed seed gives ({names})"
    return f"has {items.card.items} items, and the revealed seed gives {again.card.items}"


def check_commitment(items: ItemSet, commitment: str) -> None:
    """Raise SnellenError unless the set was built from the seal with this published commitment."""
    if items.card.recipe.get(SEALED) != commitment.strip().lower():
        raise SnellenError(f"{items.root}: not built from the seal with the published commitment {commitment}")


def rebuild_images(items: ItemSet, count: int) -> tuple[int, int, float]:
    """Render a sample of images again: (number rendered, number of all images, largest difference in levels).

    A difference above `MAX_MEAN` is accepted only if another renderer, or one on another processor, drew the set.
    Raises SnellenError for an image that differs, or if none was rendered by Snellen.
    """
    from snellen.stimuli.render import rebuild

    recipes = read_image_recipes(items.root)
    media_by_hash = {media.sha256: media for item in items.items for media in item.media()}
    images = sorted(name for name, recipe in recipes.items() if name in media_by_hash and "spec" in json.loads(recipe))
    if not images:
        raise SnellenError(f"{items.root}: --rebuild needs images rendered by Snellen, but the set contains none")
    rng = stream("verify", secrets.token_hex(16))  # nobody may know beforehand which images are compared
    chosen = [images[int(n)] for n in rng.permutation(len(images))[:count]]
    # Later instalments may have been drawn elsewhere.
    is_drawn_here = rebuild.drawn_here(items.card.provenance.get("render")) and len(items.card.instalments) < 2
    paths = {items.media.find(media_by_hash[sha256]): recipes[sha256] for sha256 in chosen}
    return len(chosen), len(media_by_hash), rebuild.rebuild(paths, is_drawn_here=is_drawn_here)


def is_same_parser(card: RunCard) -> bool:
    """True if a run's replies were read by this version of the parser; False if that is not recorded."""
    return card.versions.get(PARSER) == versions()[PARSER]


def read_apart(roots: Iterable[Path]) -> Iterator[str]:
    """For runs that different versions of the parser read: in words, the replies that this version reads otherwise."""
    cards = {root: read_run_card(root) for root in roots}
    is_apart = len({card.versions.get(PARSER) for card in cards.values()}) > 1
    for root, card in cards.items() if is_apart else ():
        if not is_same_parser(card):
            items = open_asked_items(root, card, SUITES.get(card.suite))
            changed = check_scores(root, card, items, with_judged_reading(suite_of(items)))[1]
            count = f"this one reads {len(changed)} replies otherwise"
            yield f"{root}: read by another version of the parser than other runs here; {count}"


def check_card(root: Path, card: RunCard, items: ItemSet, suite: Suite) -> None:
    """Raise SnellenError if the card of a run does not describe its item set, or columns not their condition."""
    for name in ("suite", "version", "recipe_hash", "rows_hash", "test_hash"):
        if getattr(card, name) not in ("", getattr(items.card, name)):
            raise SnellenError(f"{root / card.file}: {name} is not that of the item set")
    for arm in card.arms:
        condition = parse_conditions(suite.axes, arm.condition)[0]
        # What decides about axes that follow from the subject is recorded, but for the images that it takes.
        cards = (replace(card_of(arm), max_images=most) for most in (None, 1, 2))
        if all(settle(condition, suite, subject_card).columns() != arm.columns for subject_card in cards):
            raise SnellenError(
                f"{root / card.file}: columns of {arm.subject} under {arm.condition} are not those of the condition"
            )


def count_items(card: RunCard, items: ItemSet, responses: Sequence[Response]) -> Iterator[str]:
    """For each arm, in words, the test items that were not asked, failed or were declined."""
    test = {item.item_id for item in items.items if item.split == "test"}
    status = {(*response.arm_key, response.item_id): response.status for response in responses}
    for arm in card.arms:
        of_arm = (status.get((*arm.arm_key, name), "not asked") for name in test)
        counts: Counter[str] = Counter(of_arm)
        words = ", ".join(f"{counts[name]} {name}" for name in ("not asked", "failed", "declined"))
        yield f"{arm.subject} under {arm.condition}: {len(test)} test items, {words}"


def check_replies(root: Path, card: RunCard, items: ItemSet, suite: Suite) -> int | None:
    """Replay the record in a temporary folder and compare every response; None if it uses annotation tables.

    A recorded reply counts only for exactly the prompt that its item gives, so the prompts are checked, too. What is
    asked next may depend on how replies are read: with another parser, the responses that differ are counted.
    """
    if card.annotations:
        return None
    count = 0
    stored = {response.response_id: response for response in read_responses(root)}
    with TemporaryDirectory() as folder:
        again = Path(folder) / "run"
        (again / "parts").mkdir(parents=True)
        for path in (*part_files(root), root / RunCard.file):  # no other file, and none that is not regular
            (again / path.relative_to(root)).write_bytes(read_file(path, MAX_LIST_BYTES))
        try:
            replay(again, items, suite, {})
        except SnellenError as error:  # without the name of the temporary folder
            raise SnellenError(str(error).replace(str(again), str(root))) from error
        _check_arms(root, card, read_run_card(again))
        replayed = {response.response_id: response for response in read_responses(again)}
        prompts, others = read_sent(root), read_sent(again)
        calls = [files.read_table(run / "exchanges.parquet") for run in (root, again)]
        sent = files.read_table(root / "sent.parquet", schema=SENT)
        is_whole = prompts.keys() == others.keys() and len(sent) == len(others)
    for name in sorted(stored.keys() | replayed.keys()):
        if fault := _response_fault(stored.get(name), replayed.get(name)):
            if is_same_parser(card):
                raise SnellenError(f"{root / 'responses.parquet'}: the response {name!r} {fault}")
            count += 1
    stored_names = {media.path.split("/")[1] for item in items.items for media in item.media()}
    for name, text in prompts.items():
        parts, replayed_parts = sent_parts(root, text), sent_parts(root, others.get(name, "[]"))
        pairs = zip(parts, replayed_parts, strict=False)
        if len(parts) != len(replayed_parts) or not all(_is_same_part(*pair, stored_names) for pair in pairs):
            raise SnellenError(f"{root / 'sent.parquet'}: the prompt {name!r:.60} is not that of its items")
    if not is_whole:
        raise SnellenError(f"{root / 'sent.parquet'}: lacks prompts, or has one twice; those of parts/ are others")
    names = set(calls[0].column_names)
    is_known = set(calls[0].schema) <= set(calls[1].schema)  # names and types
    if "key" not in names or not is_known or len(names) < calls[0].num_columns:
        raise SnellenError(f"{root / 'exchanges.parquet'}: has columns or types that are not those of a run")
    first, second = (table.sort_by("key").select(sorted(names)).to_pylist() for table in calls)
    if first != second:
        raise SnellenError(f"{root / 'exchanges.parquet'}: other cells than the recorded replies in parts/ give")
    return count


def _is_same_part(part: Any, replayed_part: Any, stored_names: Container[str]) -> bool:
    """True if the parts of a prompt are equal: where a replay lays a montage out, the image is none of the items'."""
    is_montage = isinstance(part, dict) and "montage" in part and isinstance(replayed_part, dict)
    return bool(part == replayed_part or (is_montage and replayed_part.get("media") not in stored_names))


def _check_arms(root: Path, card: RunCard, again: RunCard) -> None:
    """Compare fingerprints and the numbers of items to be asked; people and recorded answers may be to fewer tasks."""
    for arm, other in zip(card.arms, again.arms, strict=True):
        if arm.source == "recorded" or arm.role == "person" or not is_same_parser(card):
            is_whole = arm.test_items.items() <= other.test_items.items()
        else:
            is_whole = arm.test_items == other.test_items
        if not is_whole or (arm.columns, arm.fingerprint) != (other.columns, other.fingerprint):
            raise SnellenError(
                f"{root / 'run.json'}: test_items, columns or fingerprint of {arm.subject} under {arm.condition} are "
                "not those of its items, condition and settings"
            )


def _response_fault(stored: Response | None, replayed: Response | None) -> str:
    """The way in which a stored response does not follow from the record, or an empty text."""
    if stored is None:
        return "is missing, although its replies are recorded"
    if replayed is None:
        own_name = f"{stored.fingerprint}/{stored.condition}/{stored.repeat}/{stored.item_id}"
        is_declined = stored.status == "declined" and stored.response_id == own_name
        return "" if is_declined else "has no recorded reply to the prompt that its item gives"
    fields = [name for name in Response.__slots__ if getattr(stored, name) != getattr(replayed, name)]
    return f"does not follow from the recorded replies ({', '.join(fields)})" if fields else ""


def check_scores(root: Path, card: RunCard, items: ItemSet, suite: Suite) -> tuple[list[str], list[str]]:
    """Score all responses again under every protocol that was scored, and compare each cell.

    Returns the protocols, and in words the replies that another version of the parser may have read otherwise.
    """
    changed: dict[tuple[str, ...], str] = {}
    tables = own_scores(root, items, suite, card.arms)
    for protocol, table in tables.items():
        again = scores_of(root, items, suite, protocol)
        path = root / f"scores.{protocol}.parquet"
        if len(table) != len(again):
            raise SnellenError(f"{path}: has {len(table)} rows, and the replies give {len(again)}")
        columns = list(table.columns)
        rows, others = (scores[columns].itertuples(index=False, name=None) for scores in (table, again))
        for row, other in zip(rows, others, strict=True):
            if differing := [n for n, cell in enumerate(row) if not _is_same(cell, other[n])]:
                odd, about = differing[0], dict(zip(columns, row, strict=True))
                is_read = columns[odd] in ("prediction", "form") and {columns[n] for n in differing} <= READ
                if is_read and not is_same_parser(card):
                    key = (about["subject"], about["condition"], str(about["repeat"]), about["item_id"])
                    changed[key] = f"item {about['item_id']!r}: {row[odd]:.60} then, {other[odd]:.60} now"
                    continue
                raise SnellenError(
                    f"{path}: {columns[odd]} of item {about['item_id']!r}, {about['subject']} under "
                    f"{about['condition']}, {about['metric']}, is {row[odd]!r:.60}, and its reply gives "
                    f"{other[odd]!r:.60}"
                )
    return list(tables), list(changed.values())


def _is_same(stored: object, computed: object) -> bool:
    if isinstance(stored, float) and isinstance(computed, float):
        is_close = math.isclose(stored, computed, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        return is_close or (stored != stored and computed != computed)
    return stored == computed
