"""Sealed exams: the seed stays secret until it is revealed, and then every later change is found and named."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snellen.cli.verification import verify
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.seeds import stream
from snellen.core.storage import files
from snellen.core.storage.item_rows import read_image_recipes
from snellen.core.storage.itemset import ItemSet, _write_rows, read_itemset, recipe_hash, write_itemset
from snellen.core.storage.itemset_cards import ItemSetCard, SetDeclaration, read_card, write_card
from snellen.core.storage.parts import line_of, part_files, read_exchanges
from snellen.core.storage.run_digest import check_digest, write_digest
from snellen.core.storage.runfolder import read_run_card
from snellen.core.storage.seal import SEALED, Seal, commitment_of, concealed_items, read_seal, write_secret
from snellen.exam import verification
from snellen.exam.rescoring import rescore
from snellen.exam.run import run
from snellen.exam.sealing import build_sealed, built_again, make_seal, planned_recipe, reveal
from snellen.exam.verification import check_rows, check_seal
from snellen.runs.asking.replay import replay
from snellen.suites import SUITES
from tests.cli.conftest import Command, snellen  # noqa: F401  # a fixture
from tests.helpers.refusals import assert_refused

SUBJECTS = ["fake:oracle", "fake:chance"]
SEALABLE = [name for name in SUITES if "generated" in SUITES.get(name).recipes]


def _options(out: Path, **how: Any) -> BuildOptions:
    return BuildOptions(
        out, **{"n": 2, "renderer": "toy", "size": (120, 90), "allow_unmatched": True, "show_progress": False, **how}
    )


def _content(root: Path) -> str:
    """Everything in a folder as text: names, bytes, and the rows of tables, which are compressed on disk."""
    paths = [path for path in sorted(root.rglob("*")) if path.is_file()]
    rows = [str(list(files.rows_of(files.read_table(path)))) for path in paths if path.suffix == ".parquet"]
    raw = [path.read_bytes().decode("latin-1") for path in paths]
    return "\n".join([*map(str, paths), *raw, *rows])


@dataclass(frozen=True)
class Exam:
    """A sealed set, the run of two subjects about it, its revealed seal, and the digest published after the run."""

    root: Path
    seal: Seal
    digest: str

    def check(self, root: Path) -> None:
        """Verify a copy of the exam in a folder."""
        verify(str(root / "run"), 0, str(root / "items"), self.digest, self.seal.commitment)


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Exam:
    root = tmp_path_factory.mktemp("exam")
    seal = make_seal(SUITES.get("combo"), _options(Path(), n=2, tasks=("category-building",)))
    items = build_sealed(seal, BuildOptions(root / "items", show_progress=False))
    run(items, SUBJECTS, root / "run", show_progress=False)
    digest = write_digest(root / "run", root / "items").total
    reveal(seal, root / "run")
    return Exam(root, seal, digest)


def _sealed_card(card: ItemSetCard, commitment: str, **change: Any) -> ItemSetCard:
    """The card with a recipe that claims a commitment, and its hash."""
    recipe = {**card.recipe, **change, SEALED: commitment}
    own_hash = recipe_hash(card.suite, card.version, card.source, recipe)
    return card.model_copy(update={"recipe": recipe, "recipe_hash": own_hash})


def test_a_commitment_is_the_sha256_of_canonical_json(tmp_path: Path) -> None:
    """By hand, with the standard library only, as somebody without Snellen would check a revealed seal."""
    seal = make_seal(SUITES.get("combo"), _options(Path()))
    write_secret(tmp_path / "exam.seal", seal)
    assert stat.S_IMODE((tmp_path / "exam.seal").stat().st_mode) == 0o600
    written = json.loads((tmp_path / "exam.seal").read_text())
    assert sorted(written) == [
        "commitment", "parameters", "recipe", "salt", "schema_version", "seed", "suite", "version"
    ]  # fmt: skip
    facts = {name: value for name, value in written.items() if name not in ("commitment", "schema_version")}
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == written["commitment"] == commitment_of(seal)
    assert read_seal(tmp_path / "exam.seal") == seal
    with pytest.raises(SnellenError, match="never overwritten"):
        write_secret(tmp_path / "exam.seal", seal)


@pytest.mark.parametrize("step", ["fsync", "link", "flock", "replace"])
def test_a_full_disk_leaves_no_seal_and_the_same_command_then_works(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system without hard links reaches the later steps; an empty file, as a kill there leaves, is no seal."""
    seal, path = make_seal(SUITES.get("combo"), _options(Path())), tmp_path / "exam.seal"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", full)
        patch.setattr(*{"flock": (fcntl, "flock"), "replace": (Path, "replace")}.get(step, (os, step)), full)
        if step != "link":
            with pytest.raises(SnellenError, match="No space left"):
                write_secret(path, seal)
            assert [(file.name, file.stat().st_size) for file in tmp_path.iterdir()] in ([], [(path.name, 0)])
            patch.undo()
            patch.setattr(os, "link", full)
        write_secret(path, seal)
        assert read_seal(path) == seal
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(SnellenError, match="never overwritten"):
            write_secret(path, seal)


def test_seeds_and_salts_are_long_and_new() -> None:
    """Two seals of the same exam have nothing secret in common. A seed below 2^64 has a chance of 2^-64."""
    seals = [make_seal(SUITES.get("combo"), _options(Path())) for _ in range(2)]
    assert len({seal.seed for seal in seals} | {seal.salt for seal in seals}) == 4
    assert all(int(seal.seed) >= 2**64 and len(seal.salt) == 64 for seal in seals)
    assert all(len(set(bytes.fromhex(seal.salt))) > 16 for seal in seals), "no byte that is repeated"


@pytest.mark.parametrize("field", ["suite", "version", "recipe", "parameters", "seed", "salt", "commitment"])
def test_a_changed_seal_is_refused(field: str, tmp_path: Path) -> None:
    seal = make_seal(SUITES.get("combo"), _options(Path()))
    others = {
        "parameters": seal.parameters.model_copy(update={"n": 5}),
        "seed": str(int(seal.seed) ^ 1),
        "suite": "ava-bench",
    }
    flipped = ("0" if getattr(seal, field)[0] != "0" else "1") + getattr(seal, field)[1:] if field not in others else ""
    write_secret(tmp_path / "exam.seal", seal.model_copy(update={field: others.get(field, flipped)}))
    with pytest.raises(SnellenError, match="does not follow from its content"):
        read_seal(tmp_path / "exam.seal")


@pytest.mark.parametrize(
    ("name", "value"),
    [("size", [10**5] * 2), ("size", "a"), ("n", "b"), ("n", 10**8), ("tasks", 3), ("settings", {"a": [1]}), ("x", 1)],
    ids=str,
)
def test_a_stranger_s_seal_with_impossible_parameters_is_refused_in_one_line(
    name: str, value: Any, exam: Exam, tmp_path: Path
) -> None:
    """Its commitment follows from its content, and the card of the set has it: the stranger made both."""
    shutil.copytree(exam.root / "items", tmp_path / "items")
    facts = exam.seal.model_dump(mode="json", exclude={"commitment", "schema_version"})
    facts["parameters"][name] = value
    commitment = digest(facts)
    (tmp_path / "items" / "revealed.json").write_text(
        json.dumps({**facts, "commitment": commitment, "schema_version": 2})
    )
    write_card(tmp_path / "items", _sealed_card(read_card(exam.root / "items"), commitment))
    with pytest.raises(SnellenError, match=r"seal|revealed") as raised:
        verify(str(tmp_path / "items"), 0, None, None, None)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("suite", SEALABLE)
@pytest.mark.slow
def test_no_file_of_a_sealed_set_shows_the_seed(suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of every suite; and the rows made again without drawing are those of the set, field by field."""
    seal = make_seal(SUITES.get(suite), _options(Path()))
    items = build_sealed(seal, BuildOptions(tmp_path / "items"))
    forms = (seal.seed, f"{int(seal.seed):x}", seal.salt)
    content = _content(tmp_path) + "".join(capsys.readouterr())
    assert [form for form in forms if form in content] == []
    assert seal.commitment in (tmp_path / "items" / "itemset.json").read_text()
    assert items.card.recipe["sealed"] == seal.commitment
    assert check_rows(items)
    check_seal(items, seal)
    other = make_seal(SUITES.get(suite), _options(Path()))
    with built_again(other) as again:
        assert again.card.rows_hash != items.card.rows_hash


@pytest.mark.parametrize("size", [{"n": 10**8}, {"n": None, "full": True}])
def test_a_revealed_seal_of_a_larger_set_is_not_made_again(exam: Exam, tmp_path: Path, size: dict[str, Any]) -> None:
    root, parameters = tmp_path / "items", exam.seal.parameters.model_copy(update=size)
    seal = exam.seal.model_copy(update={"parameters": parameters})
    shutil.copytree(exam.root / "items", root)
    card = read_itemset(root).card
    write_card(root, card.model_copy(update={"recipe": {**card.recipe, SEALED: seal.commitment}}))
    with pytest.raises(SnellenError, match="the revealed seal asks for more than"):
        check_seal(read_itemset(root), seal)


def test_a_revealed_seal_of_ten_times_the_items_is_made_again(exam: Exam, tmp_path: Path) -> None:
    """Recipes may round n, so only a seal of many more items than the set has is refused unmade."""
    root = shutil.copytree(exam.root / "items", tmp_path / "items")
    card = read_card(root)
    parameters = exam.seal.parameters.model_copy(update={"n": 10 * card.items})
    seal = exam.seal.model_copy(update={"parameters": parameters})
    write_card(root, card.model_copy(update={"recipe": planned_recipe(seal)}))
    with pytest.raises(SnellenError, match=f"has {card.items} items, and the revealed seed gives [1-9]"):
        check_seal(read_itemset(root), seal)


def test_an_item_that_shows_the_seed_is_refused(exam: Exam) -> None:
    """In decimal or hexadecimal digits. A field that is the seed itself has the commitment in its place."""
    item, seed = read_itemset(exam.root / "items").items[0], int(exam.seal.seed)
    for text in (f"Seed {seed}?", f"Seed {seed:X}?"):
        with pytest.raises(SnellenError, match="shows the seed"):
            concealed_items((replace(item, question=text),), exam.seal)
    (hidden,) = concealed_items((replace(item, latent={"a": [seed]}, provenance={"seed": seed}),), exam.seal)
    name = f"sealed:{exam.seal.commitment}"
    assert (hidden.latent, hidden.provenance) == ({"a": [name]}, {"seed": name})


def test_the_seal_is_compared_with_the_rows_and_not_with_the_card(exam: Exam, tmp_path: Path) -> None:
    honest = read_itemset(exam.root / "items").card.rows_hash
    _exchange_item(shutil.copytree(exam.root, tmp_path / "copy"), stream("tests.seal"))
    items = read_itemset(tmp_path / "copy" / "items")
    with pytest.raises(SnellenError, match=r"is not the one that the revealed seed gives \(answer\)"):
        check_seal(replace(items, card=items.card.model_copy(update={"rows_hash": honest})), exam.seal)


def test_the_hash_on_the_card_and_the_recipes_of_images_are_those_of_the_seal(exam: Exam, tmp_path: Path) -> None:
    items = read_itemset(shutil.copytree(exam.root / "items", tmp_path / "items"))
    other = replace(items, card=items.card.model_copy(update={"rows_hash": "0" * 64}))
    count = items.card.items
    assert_refused(lambda: check_seal(other, exam.seal), f"has {count} items, and the revealed seed gives {count}")
    (tmp_path / "items" / "image_recipes.parquet").unlink()
    assert_refused(lambda: check_seal(items, exam.seal), f"{items.root}: a sealed set without image_recipes.parquet")


def test_a_card_with_another_recipe_than_the_revealed_one_is_refused(exam: Exam) -> None:
    items = read_itemset(exam.root / "items")
    card = items.card.model_copy(update={"recipe": {**items.card.recipe, "n": 3}})
    with pytest.raises(SnellenError, match="the recipe is not that of the revealed seal"):
        check_seal(replace(items, card=card), exam.seal)


@pytest.mark.parametrize("change", [{"suite": "thresholds"}, {"version": "9"}, {"recipe": "released"}, {"size": 4096}])
def test_a_set_of_another_recipe_than_the_revealed_one_is_not_made(
    change: dict[str, Any], exam: Exam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its suite nor its images of 4096 pixels, which could take for ever."""
    monkeypatch.setattr(verification, "planned_items", lambda seal: 1)
    monkeypatch.setattr(verification, "built_again", lambda seal: pytest.fail("made again"))
    if side := change.pop("size", None):
        change = {"parameters": exam.seal.parameters.model_copy(update={"size": (side, side)})}
    with pytest.raises(SnellenError, match="the recipe is not that of the revealed seal"):
        check_seal(read_itemset(exam.root / "items"), exam.seal.model_copy(update=change))


def test_a_digest_covers_judgements_and_notices_removed_files(exam: Exam, tmp_path: Path) -> None:
    root = shutil.copytree(exam.root / "run", tmp_path / "run")
    judged = root / "judgements" / "judge.parquet"
    judged.parent.mkdir()
    judged.write_bytes(b"judged")
    total = write_digest(root, exam.root / "items").total
    check_digest(root, exam.root / "items", total)
    judged.write_bytes(b"Judged")
    with pytest.raises(SnellenError, match="judgements: changed"):
        check_digest(root, exam.root / "items", total)
    judged.write_bytes(b"judged")
    _change_cell(f"run/{SCORES}", "value", lambda value: 1.0 - value)(tmp_path, stream("a score under a digest"))
    with pytest.raises(SnellenError, match=rf"{SCORES}: changed"):
        check_digest(root, exam.root / "items", total)
    (root / "exchanges.parquet").unlink()
    with pytest.raises(SnellenError, match=r"exchanges\.parquet: changed, added or removed"):
        check_digest(root, exam.root / "items", total)


@pytest.mark.parametrize("kind", [pa.duration("s"), pa.timestamp("s"), pa.date64(), pa.timestamp("ns"), pa.binary()])
def test_scores_of_odd_types_have_no_digest(kind: pa.DataType, exam: Exam, tmp_path: Path) -> None:
    """Of a run without its other tables nothing else reads them."""
    root = shutil.copytree(exam.root / "run", tmp_path / "run")
    cell = b"\xff" if kind == pa.binary() else 2**52 + 1
    pq.write_table(pa.table({"a": pa.array([cell], kind)}), root / SCORES)
    assert_refused(lambda: check_digest(root, exam.root / "items", exam.digest), f"{root / SCORES}: ")


def test_a_digest_covers_the_blind_scores(exam: Exam, tmp_path: Path) -> None:
    """Grades start from them."""
    items = shutil.copytree(exam.root / "items", tmp_path / "items")
    check_digest(exam.root / "run", items, exam.digest)
    card = json.loads((items / "blind.json").read_text())
    card["scores"][0]["value"] = 0.97
    (items / "blind.json").write_text(json.dumps(card))
    with pytest.raises(SnellenError, match=r"blind\.json: changed"):
        check_digest(exam.root / "run", items, exam.digest)


def test_a_digest_covers_the_counts_of_a_set_that_does_not_grow(exam: Exam, tmp_path: Path) -> None:
    items = shutil.copytree(exam.root / "items", tmp_path / "items")
    card = json.loads((items / "itemset.json").read_text())
    (items / "itemset.json").write_text(json.dumps({**card, "counts": {}}))
    with pytest.raises(SnellenError, match=r"itemset\.json: changed"):
        check_digest(exam.root / "run", items, exam.digest)


def test_a_set_may_grow_after_the_digest_and_its_earlier_parts_stay(exam: Exam, tmp_path: Path) -> None:
    items, run_root = tmp_path / "items", shutil.copytree(exam.root / "run", tmp_path / "run")
    items.mkdir()

    def write(*parts: str) -> None:
        card = {"declaration": {"parts": 3}, "parts": parts, "items": len(parts), "counts": {"task": len(parts)}}
        (items / "itemset.json").write_text(json.dumps(card))

    write("first")
    total = write_digest(run_root, items).total
    write("first", "second")
    check_digest(run_root, items, total)
    write("changed", "second")
    with pytest.raises(SnellenError, match="changed, added or removed"):
        check_digest(run_root, items, total)


def test_the_seed_is_nowhere_until_it_is_revealed(exam: Exam, tmp_path: Path) -> None:
    """Neither in items, prompts, replies, names of files, nor on a card: of the set and of the run."""
    shutil.copytree(exam.root, tmp_path / "copy")
    (tmp_path / "copy" / "run" / "revealed.json").unlink()
    content = _content(tmp_path / "copy")
    assert exam.seal.commitment in content
    assert exam.seal.seed not in content
    assert f"{int(exam.seal.seed):x}" not in content
    assert exam.seal.salt not in content
    assert exam.seal.seed in _content(exam.root), "the search finds it where it is"


def test_no_moment_of_a_sealed_build_leaves_the_seed_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is written there, half or whole, a kill may leave."""
    seal = make_seal(SUITES.get("combo"), _options(Path(), tasks=("category-building",)))
    sync, written = files._sync, list[str]()

    def keep(path: Path) -> None:
        if path.is_file():
            written.append(path.name)
            shutil.copy(path, tmp_path / f"{len(written)}{'.parquet' * ('.parquet.' in path.name)}")
        sync(path)

    monkeypatch.setattr(files, "_sync", keep)
    build_sealed(seal, BuildOptions(tmp_path / "items", show_progress=False))
    assert {name.partition(".")[0] for name in written} >= {"items", "image_recipes", "itemset", "blind"}
    assert seal.seed not in _content(tmp_path)


def test_a_sealed_build_killed_before_its_last_file_is_finished(tmp_path: Path) -> None:
    seal = make_seal(SUITES.get("combo"), _options(Path(), tasks=("category-building",)))
    sealed = build_sealed(seal, BuildOptions(tmp_path / "items", show_progress=False))
    (tmp_path / "items" / "blind.json").unlink()  # killed before the last file
    assert (
        build_sealed(seal, BuildOptions(tmp_path / "items", show_progress=False)).card
        == read_itemset(tmp_path / "items").card
    )
    with pytest.raises(SnellenError, match="never edited"):
        build_sealed(seal, BuildOptions(tmp_path / "items", show_progress=False))
    assert sealed.blind is not None
    (tmp_path / "items" / "blind.json").unlink()
    other = make_seal(SUITES.get("combo"), _options(Path(), tasks=("category-building",)))
    assert_refused(lambda: build_sealed(other, BuildOptions(tmp_path / "items", show_progress=False)), "never edited")
    assert not (tmp_path / "items" / "blind.json").exists(), "nobody else finishes it"


def test_an_untouched_exam_is_verified(exam: Exam, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Also after it was moved, which changes no digest."""
    shutil.copytree(exam.root, tmp_path / "moved")
    exam.check(tmp_path / "moved")
    printed = capsys.readouterr().out
    for line in ("replies: each follows", "scores: each follows", "as it was when this digest", "follow from the rev"):
        assert line in printed
    assert write_digest(tmp_path / "moved" / "run", tmp_path / "moved" / "items").total == exam.digest


@dataclass(frozen=True)
class Tampering:
    """A change of a copy of the exam, and the names of which the message must give one."""

    change: Callable[[Path, np.random.Generator], None]
    names: tuple[str, ...]


def _set_json(path: Path, *keys: str, value: Any) -> None:
    cells = inner = json.loads(path.read_text())
    for key in keys[:-1]:
        inner = inner[key]
    assert inner[keys[-1]] != value
    inner[keys[-1]] = value
    path.write_text(json.dumps(cells))


def _change_reply(root: Path, rng: np.random.Generator) -> None:
    """One recorded reply, with a correct checksum of its line."""
    part = part_files(root / "run")[0]
    exchanges = [exchange for exchange in read_exchanges(root / "run") if exchange.reply]
    n = int(rng.integers(len(exchanges)))
    reply = exchanges[n].reply
    assert reply is not None
    exchanges[n] = replace(exchanges[n], reply=replace(reply, text=f"{reply.text} {int(rng.integers(100))}"))
    part.write_text("".join(map(line_of, exchanges)))


def _change_cell(table: str, column: str, other: Callable[[Any], Any]) -> Callable[[Path, np.random.Generator], None]:
    def change(root: Path, rng: np.random.Generator) -> None:
        path = root / table
        cells = files.read_table(path)
        rows = cells.to_pylist()
        row = rows[int(rng.integers(len(rows)))]
        row[column] = other(row[column])
        files.write_table(path, pa.Table.from_pylist(rows, cells.schema))

    return change


def _forge(root: Path, rng: np.random.Generator) -> None:
    """A reply with all that follows from it, as the run would have recorded it."""
    _change_reply(root, rng)
    items = read_itemset(root / "items")
    replay(root / "run", items, SUITES.get("combo"), {})
    rescore(root / "run", items, SUITES.get("combo"), "strict")


def _exchange_item(root: Path, rng: np.random.Generator) -> None:
    """Another answer in a set that is consistent in itself, with its hashes on the card of the run."""
    stored = read_itemset(root / "items")
    chosen = int(rng.integers(len(stored.items)))
    keys = [option.key for option in stored.items[chosen].options]
    other = keys[(keys.index(str(stored.items[chosen].answer)) + 1) % len(keys)]
    changed = [replace(item, answer=other) if n == chosen else item for n, item in enumerate(stored.items)]
    card = stored.card
    rewritten: ItemSet = write_itemset(
        root / "items", changed, source=card.source, recipe=card.recipe, provenance=card.provenance, notes=card.notes,
        image_recipes=read_image_recipes(root / "items"),
    )  # fmt: skip
    for name in ("content_hash", "rows_hash"):
        _set_json(root / "run" / "run.json", name, value=getattr(rewritten.card, name))


def _flip_image_bit(root: Path, rng: np.random.Generator) -> None:
    paths = sorted((root / "items" / "media").glob("*/*"))
    path = paths[int(rng.integers(len(paths)))]
    raw = bytearray(path.read_bytes())
    raw[int(rng.integers(len(raw)))] ^= 1 << int(rng.integers(8))
    path.write_bytes(bytes(raw))


def _change_seed(root: Path, rng: np.random.Generator) -> None:
    path = root / "run" / "revealed.json"
    _set_json(path, "seed", value=str(int(json.loads(path.read_text())["seed"]) ^ 1 << int(rng.integers(120))))


def _change_arm(root: Path, rng: np.random.Generator) -> None:
    path = root / "run" / "run.json"
    name = ["max_items", "decide", "attributes"][int(rng.integers(3))]
    cells = json.loads(path.read_text())
    cells["arms"][int(rng.integers(2))][name] = {"max_items": 7, "decide": "none", "attributes": {"x": "y"}}[name]
    path.write_text(json.dumps(cells))


def _change_date(root: Path, rng: np.random.Generator) -> None:
    _set_json(root / "run" / "digest.json", "date", value=f"2031-01-{int(rng.integers(1, 29)):02d}T00:00:00+00:00")


def _rewrite_digest(root: Path, rng: np.random.Generator) -> None:
    """A forged reply, and a new list of digests to go with it."""
    _forge(root, rng)
    (root / "run" / "digest.json").unlink()
    write_digest(root / "run", root / "items")


SCORES, RESPONSES = "scores.strict.parquet", "responses.parquet"
TAMPERINGS = {
    "a recorded reply": Tampering(_change_reply, (RESPONSES,)),
    "a reply in the table": Tampering(_change_cell(f"run/{RESPONSES}", "text", lambda text: f"{text}."), (RESPONSES,)),
    "a status in the table": Tampering(_change_cell(f"run/{RESPONSES}", "status", lambda _: "failed"), (RESPONSES,)),
    "a score": Tampering(_change_cell(f"run/{SCORES}", "value", lambda value: 1.0 - value), (SCORES,)),
    "an outcome": Tampering(_change_cell(f"run/{SCORES}", "outcome", lambda _: "failed"), (SCORES,)),
    "a reply with its consequences": Tampering(_forge, (SCORES, RESPONSES, "exchanges.parquet", "0000.jsonl")),
    "an item": Tampering(_change_cell("items/items.parquet", "question", lambda text: f"{text} "), ("items.parquet",)),
    "an item with its hashes": Tampering(_exchange_item, (SCORES, "itemset.json", "items.parquet", "run.json")),
    "the revealed seed": Tampering(_change_seed, ("revealed.json",)),
    "an arm on the card": Tampering(_change_arm, ("run.json",)),
    "the limit on the card": Tampering(
        lambda root, rng: _set_json(root / "run" / "run.json", "limit", value=int(rng.integers(50, 90))), ("run.json",)
    ),
    "a version on the card": Tampering(
        lambda root, rng: _set_json(root / "run" / "run.json", "versions", "numpy", value=f"0.{rng.integers(9)}"),
        ("run.json",),
    ),
    "the seed of the run": Tampering(
        lambda root, rng: _set_json(root / "run" / "run.json", "seed", value=int(rng.integers(1, 9))),
        ("run.json", RESPONSES),
    ),
    "a note on the set's card": Tampering(
        lambda root, rng: _set_json(root / "items" / "itemset.json", "notes", value=[f"{rng.integers(9)}"]),
        ("itemset.json",),
    ),
    "the blind scores": Tampering(
        lambda root, rng: _set_json(root / "items" / "blind.json", "method", value=f"{rng.integers(9)}"),
        ("blind.json",),
    ),
    "a bit of an image": Tampering(_flip_image_bit, ("media",)),
    "the date": Tampering(_change_date, ("digest.json",)),
    "a reply and the digest's list": Tampering(_rewrite_digest, ("digest.json",)),
    "a part removed": Tampering(
        lambda root, rng: part_files(root / "run")[0].unlink(), ("0000.jsonl", "responses.parquet")
    ),
}  # fmt: skip


def _tamper(exam: Exam, kind: str, number: int, folder: Path) -> None:
    shutil.copytree(exam.root, folder)
    TAMPERINGS[kind].change(folder, stream("tampering", kind, number))
    with pytest.raises(SnellenError) as raised:
        exam.check(folder)
    message = str(raised.value)
    assert any(name in message for name in TAMPERINGS[kind].names), message
    shutil.rmtree(folder)


@pytest.mark.parametrize("kind", TAMPERINGS)
def test_a_change_after_the_digest_is_found_and_named(kind: str, exam: Exam, tmp_path: Path) -> None:
    """19 kinds of changes, 30 changes; most of those that are found when the files are opened, which is quick."""
    often = {"a bit of an image": 5, "an item": 5, "a score": 2, "a recorded reply": 2, "the date": 2}
    for number in range(often.get(kind, 1)):
        _tamper(exam, kind, number, tmp_path / "copy")


@pytest.mark.parametrize("kind", TAMPERINGS)
@pytest.mark.slow
def test_each_of_many_changes_after_the_digest_is_found_and_named(kind: str, exam: Exam, tmp_path: Path) -> None:
    """8 of each of 19 kinds: 152 changes."""
    for number in range(10, 18):
        _tamper(exam, kind, number, tmp_path / "copy")


def test_a_reply_forged_before_the_digest_is_not_found(exam: Exam, tmp_path: Path) -> None:
    """The limit that docs/sealed-exams.md states: this is why the digest must be published soon, and by whom."""
    shutil.copytree(exam.root, tmp_path / "copy")
    _forge(tmp_path / "copy", stream("tampering", "before"))
    (tmp_path / "copy" / "run" / "digest.json").unlink()
    digest = write_digest(tmp_path / "copy" / "run", tmp_path / "copy" / "items").total
    replace(exam, digest=digest).check(tmp_path / "copy")


def test_rows_are_checked_if_an_item_names_an_image_that_no_item_shows(tmp_path: Path) -> None:
    """An odd number of questions drops one of a pair, and the latent of the other still names its image."""
    options = _options(tmp_path / "items", n=3, tasks=("category-building",))
    stored = SUITES.get("combo").recipes["generated"].build(options)
    visible = {media.sha256 for item in stored.items for media in item.media()}
    assert {name for item in stored.items for name in item.latent["shows"]} - visible
    assert check_rows(stored)


def test_another_seal_cannot_be_revealed_for_a_set(exam: Exam, tmp_path: Path) -> None:
    other = make_seal(SUITES.get("combo"), _options(Path(), n=2, tasks=("category-building",)))
    with pytest.raises(SnellenError, match="not " + other.commitment[:16]):
        reveal(other, exam.root / "run")
    shutil.copytree(exam.root / "items", tmp_path / "items")
    with pytest.raises(SnellenError, match="published commitment"):
        verify(str(tmp_path / "items"), 0, None, None, other.commitment)


@pytest.mark.parametrize("declaration", [None, SetDeclaration(instalments=1, options={})])
def test_other_items_are_found_behind_a_card_in_instalments(
    declaration: SetDeclaration | None, exam: Exam, tmp_path: Path
) -> None:
    """Whose hashes name its declaration, not its rows: with those of a whole set it was verified."""
    items = read_itemset(exam.root / "items")
    shutil.copytree(items.root, forged := tmp_path / "items")
    others = [replace(item, question=f"{item.question} Hurry!") for item in items.items]
    hashes = _write_rows(forged / "items.parquet", others, {}).model_copy(update={"rows_hash": ""})
    card = items.card.model_copy(update={"instalments": (hashes,), "declaration": declaration})
    write_card(forged, card)
    reveal(exam.seal, forged)
    assert_refused(lambda: verify(str(forged), 0, None, None, exam.seal.commitment), "not those of its declaration")
    names = dict.fromkeys(("content_hash", "rows_hash", "test_hash"), card.declared_hash)
    write_card(forged, card.model_copy(update=names))
    assert_refused(lambda: verify(str(forged), 0, None, None, exam.seal.commitment), "items.parquet: ")


def test_items_that_were_chosen_after_the_commitment_are_found(exam: Exam, tmp_path: Path) -> None:
    """Somebody builds with another seed and writes the published commitment on the card."""
    other = make_seal(SUITES.get("combo"), _options(Path(), n=2, tasks=("category-building",)))
    chosen = exam.seal.model_copy(update={"seed": other.seed})
    build_sealed(chosen, BuildOptions(tmp_path / "items", show_progress=False))
    reveal(exam.seal, tmp_path / "items")
    with pytest.raises(SnellenError, match="is not the one that the revealed seed gives"):
        verify(str(tmp_path / "items"), 0, None, None, exam.seal.commitment)


def test_commands_from_seal_to_verify(snellen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    size = ("--n", 2, "--renderer", "toy", "--size", "120x90")
    code, out, _ = snellen("seal", "combo/category-building", "--out", "exam.seal", *size, "--json")
    assert code == 0
    code, out, err = snellen("build", "combo", "--sealed", "exam.seal", "--out", "items")
    assert code == 0
    seal = read_seal(Path("exam.seal"))
    assert seal.seed not in out + err
    code, out, err = snellen("run", "items", *(word for name in SUBJECTS for word in ("-s", name)), "--out", "run")
    assert code == 0
    assert seal.seed not in out + err
    digest = out.split("Digest of run: ")[1].split()[0]
    assert (
        snellen("run", "items", *(word for name in SUBJECTS for word in ("-s", name)), "--out", "run")[1]
        .split("Digest of run: ")[1]
        .split()[0]
        == digest
    ), "a finished run keeps its digest"
    assert "not revealed yet" in snellen("verify", "items")[1]
    assert snellen("reveal", "exam.seal", "run")[0] == 0
    code, out, _ = snellen("verify", "run", "--digest", digest, "--commitment", seal.commitment, "--rebuild", 2)
    assert code == 0
    assert "items follow from the revealed seed" in out
    for option, published, words in (
        ("--digest", "0" * 64, "digest.json: gives"), ("--digest", digest[:8], "digest.json: gives"),
        ("--digest", "", "an argument is empty"), ("--commitment", seal.commitment[:8], "not built from the seal"),
        ("--commitment", "", "an argument is empty"),
    ):  # fmt: skip
        code, _, err = snellen("verify", "run", option, published)
        assert (code, words in err) == (2, True), (option, published)


@pytest.mark.parametrize(
    "words",
    [("--n", 3), ("--seed", 1), ("--renderer", "toy"), ("--from", "curated"), ("--set", "distractors=random")],
    ids=str,
)
def test_options_that_a_seal_determines_are_refused(
    snellen: Command,  # noqa: F811
    words: tuple[str, ...],
    tmp_path: Path,
) -> None:
    write_secret(tmp_path / "exam.seal", make_seal(SUITES.get("combo"), _options(Path())))
    code, _, err = snellen("build", "combo", "--sealed", tmp_path / "exam.seal", "--out", tmp_path / "items", *words)
    assert code == 2
    assert "--sealed" in err
    assert not (tmp_path / "items").exists()


def test_a_build_without_a_recipe_needs_one_that_generates(snellen: Command, tmp_path: Path) -> None:  # noqa: F811
    code, _, err = snellen("build", "questions", "--out", tmp_path / "items")
    assert code == 2
    assert "--from is required: table" in err
    assert snellen("build", "combo", "--plan", "--json")[0] == 0


@pytest.mark.slow
def test_an_exam_is_verified_by_another_process_with_other_settings(exam: Exam, tmp_path: Path) -> None:
    """Other machine code in numpy, another locale, hash seed and time zone, and an empty home folder."""
    shutil.copytree(exam.root, tmp_path / "copy")
    environment = {
        **os.environ,
        "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
        "OPENBLAS_CORETYPE": "Nehalem",
        "LC_ALL": "C",
        "LANG": "tr_TR.UTF-8",
        "TZ": "Pacific/Kiritimati",
        "PYTHONHASHSEED": "7",
        "SNELLEN_HOME": str(tmp_path / "home"),
    }
    words = ["verify", "copy/run", "--items", "copy/items", "--digest", exam.digest, "--rebuild", "3"]
    command = [sys.executable, "-m", "snellen", *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "items follow from the revealed seed" in done.stdout


def test_the_address_of_the_items_is_not_part_of_the_digest(exam: Exam, tmp_path: Path) -> None:
    shutil.copytree(exam.root, tmp_path / "copy")
    path = tmp_path / "copy" / "run" / "run.json"
    _set_json(path, "itemset", value="elsewhere")
    exam.check(tmp_path / "copy")
    assert read_run_card(path.parent).itemset == "elsewhere"
