"""Heads are fitted from training examples, stored in a folder, and answer as a subject."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import TrainingExample
from snellen.presentation.presenters import plain
from snellen.subjects.loading import inference
from snellen.subjects.registry import make_subject
from snellen.towers.heads.conversations import Conversation, ConversationTurn
from snellen.towers.heads.stages import STAGES
from snellen.towers.heads.subject import UNSTABLE
from snellen.towers.heads.towers import TOWERS
from tests.contracts.subject_battery import check_subject
from tests.helpers.extras import lazy_module, need
from tests.helpers.journey import item, patch
from tests.towers.heads.toys import COLOURS, SMALL, Stopped, stopping

need("peft", "heads")
torch = lazy_module("torch")
features = lazy_module("snellen.towers.heads.features")
files = lazy_module("snellen.towers.heads.files")
fitting = lazy_module("snellen.towers.heads.fitting")
tensor_files = lazy_module("snellen.towers.heads.tensor_files")

OPTIONS = tuple(Option(name, name) for name in COLOURS)
FIT = replace(STAGES["fit"], epochs=1, lora_rank=4, lora_alpha=8)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def examples(media: MediaFolder, count: int = 20) -> list[TrainingExample]:
    """Training examples with flat images of two colours, all different."""
    names, rows = list(COLOURS), []
    for n in range(count):
        colour = names[n % 2]
        image = patch(media, COLOURS[colour], mark=n)
        view = item(f"item {n}", [image], colour, "choice", options=OPTIONS, question="Which colour?").view()
        rows.append(TrainingExample(view, colour, Prompt(plain(view), (view,)), view.reply.write(colour)))
    return rows


def plan(tower: str = "tiny/siglip-1", **changes: Any) -> Any:
    usual: dict[str, Any] = {"stage": FIT, "task": "task"}
    return fitting.HeadPlan(tower, SMALL, **(usual | changes))


def fitted(out: Path, media: MediaFolder, tick: Callable[[], None] = lambda: None, **changes: Any) -> Any:
    conversations = [fitting.conversation_of(example) for example in examples(media)]
    return fitting.train_head(plan(**changes), conversations, out, features.opener(media), tick)


def ask(subject: Any, views: list[View], media: MediaFolder) -> list[Reply]:
    async def together() -> list[Reply]:
        prompts = [Prompt(plain(view), (view,)) for view in views]
        return list(await asyncio.gather(*(subject.answer(p, media, stream("ask", 0)) for p in prompts)))

    return asyncio.run(together())


@pytest.mark.parametrize("name", [name for name, tower in TOWERS.items() if tower.model])
def test_every_family_trains_two_steps_resumes_and_answers(name: str, media: MediaFolder, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"tower": f"tiny/{name}", "interval": 1}
    with pytest.raises(Stopped):
        fitted(tmp_path / "head", media, stopping(1), **changes)
    card = fitted(tmp_path / "head", media, **changes)
    assert (card.steps, card.conversations) == (2, 20)
    view = examples(media, 1)[0].view
    (reply,) = ask(make_subject(f"head:{tmp_path / 'head'}?max_new_tokens=2"), [view], media)
    assert reply.tokens_out <= 2
    assert sorted(path.name for path in (tmp_path / "head").iterdir()) == [files.CARD, files.WEIGHTS]


def test_a_head_that_builds_on_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from snellen.towers.heads import costs, files

    facts = {"tower": "t", "language_model": "l", "tower_fingerprint": "f", "weights": "w", "base_weights": "w"}
    card = SimpleNamespace(**facts, base=str(tmp_path), stage={"scope": "connector"})
    for module in (costs, files):
        monkeypatch.setattr(module, "read_head_card", lambda folder: card)
    monkeypatch.setattr(costs, "is_head", lambda folder: True)
    monkeypatch.setattr(files, "tower_fingerprint", lambda tower: "f")
    with pytest.raises(SnellenError, match="build on itself"):
        files._apply(None, tmp_path, "t", "l")
    assert list(costs._stack(tmp_path)) == [tmp_path.resolve()]


def test_a_head_stores_only_adapter_connector_and_costs(media: MediaFolder, tmp_path: Path) -> None:
    card = fitted(tmp_path, media)
    tensors, _ = tensor_files.read_tensors(tmp_path / files.WEIGHTS)
    assert all(".lora_" in name or "multi_modal_projector" in name for name in tensors)
    assert card.trained_parameters == sum(tensor.numel() for tensor in tensors.values())
    assert card.samples_per_second == pytest.approx(20 / card.seconds, rel=0.01)
    assert card.device_hours == pytest.approx(card.seconds / 3600, abs=1e-6)
    assert card == files.read_head_card(tmp_path)
    assert json.loads((tmp_path / files.CARD).read_text())["stage"]["lora_rank"] == 4


def test_a_finished_head_is_not_retrained_and_other_examples_are_refused(media: MediaFolder, tmp_path: Path) -> None:
    card = fitted(tmp_path, media)

    def never() -> None:
        raise AssertionError("trained again")

    assert fitted(tmp_path, media, never) == card
    with pytest.raises(SnellenError, match="contains a head of other settings or examples"):
        fitted(tmp_path, media, stage=replace(FIT, rate=1.0))
    with pytest.raises(SnellenError, match="no conversations"):
        fitting.train_head(plan(), [], tmp_path / "none", features.opener(media))


@pytest.mark.parametrize("source", ["live", "cached"])
def test_sources_lead_to_the_same_weights(source: Any, media: MediaFolder, tmp_path: Path) -> None:
    """The weights are equal bit by bit: in float32 a stored token equals the live one."""
    two_epochs = replace(FIT, epochs=2)
    first, second = (
        fitted(tmp_path / name, media, stage=two_epochs, source=source_name)
        for name, source_name in (("a", source), ("b", None))
    )
    assert first.features == source
    # Of so few images, load decides which is more.
    assert second.live_seconds_per_image > 0 < second.read_seconds_per_image
    a, b = (tensor_files.read_tensors(tmp_path / name / files.WEIGHTS)[0] for name in "ab")
    assert all(torch.equal(a[key], b[key]) for key in a)


def test_a_cache_of_another_tower_is_refused_and_a_damaged_shard_is_recreated(media: MediaFolder) -> None:
    images = [image for example in examples(media, 6) for image in example.view.query]
    reader = features.TowerReader("tiny/clip-l", features.opener(media))
    cache = features.TokenCache(reader)
    cache.prepare(images)
    assert torch.equal(cache.read(images), reader.tokens(images))
    (shard,) = cache.root.glob("*.safetensors")
    other = features.TokenCache(features.TowerReader("tiny/clip-l?layer=-1", features.opener(media)))
    other.root.mkdir(parents=True)
    (other.root / shard.name).write_bytes(shard.read_bytes())
    with pytest.raises(SnellenError, match="contains tokens of another tower"):
        features.TokenCache(other.reader)
    whole = shard.read_bytes()
    flips = [
        whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :]
        for position in (60, 300, len(whole) - 1)
    ]
    for raw in (b"torn", whole[:-1], *flips):
        shard.write_bytes(raw)
        again = features.TokenCache(reader)
        again.prepare(images)
        assert torch.allclose(again.read(images), reader.tokens(images), atol=1e-5)


def test_features_are_cached_if_they_are_read_again(media: MediaFolder) -> None:
    images = [image for example in examples(media, 4) for image in example.view.query]
    reader = features.TowerReader("tiny/clip-l", features.opener(media))
    assert features.choose_source(reader, images, 1).source == "live"  # a single pass
    assert features.choose_source(reader, [], 9).source == "live"
    measured = features.choose_source(reader, images, 1000)
    cheaper = measured.live_seconds + 1000 * measured.read_seconds < 1000 * measured.live_seconds
    assert (measured.source == "cached") == cheaper


def test_stages_build_on_each_other(media: MediaFolder, tmp_path: Path) -> None:
    """`fit` starts from the connector of `pretrain` and all weights of `tune`, and its head is loaded with them."""
    conversations = [fitting.conversation_of(example) for example in examples(media)]
    small = {name: replace(STAGES[name], group=1, accumulation=1) for name in ("pretrain", "tune")}
    for name, base in (("pretrain", None), ("tune", tmp_path / "pretrain")):
        stage_plan = fitting.HeadPlan("tiny/clip-l", SMALL, small[name], base)
        fitting.train_head(stage_plan, conversations, tmp_path / name, features.opener(media))
    still = replace(FIT, rate=0.0)
    card = fitted(tmp_path / "fit", media, tower="tiny/clip-l", base=tmp_path / "tune", stage=still)
    assert card.base_weights == files.read_head_card(tmp_path / "tune").weights
    tuned, head = (files.load_head(tmp_path / name).model.state_dict() for name in ("tune", "fit"))
    first = files.load_head(tmp_path / "pretrain").model.state_dict()
    embedding = "model.language_model.embed_tokens.weight"
    assert torch.equal(tuned[embedding], head[embedding])
    assert not torch.equal(tuned[embedding], first[embedding])
    with pytest.raises(SnellenError, match="fitted to task; use the stage before as --base"):
        fitted(tmp_path / "again", media, tower="tiny/clip-l", base=tmp_path / "fit")
    with pytest.raises(SnellenError, match=r"with tower tiny/clip-l and .*, not tiny/sam-h"):
        fitted(tmp_path / "other", media, tower="tiny/sam-h", base=tmp_path / "tune")
    retrained = replace(small["tune"], seed=5)
    for path in (tmp_path / "tune").iterdir():
        path.unlink()
    fitting.train_head(
        fitting.HeadPlan("tiny/clip-l", SMALL, retrained), conversations, tmp_path / "tune", features.opener(media)
    )
    with pytest.raises(SnellenError, match="has been retrained since"):
        files.load_head(tmp_path / "fit")


@pytest.fixture(scope="module")
def head_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a head that has learned the two colours, and its images."""
    root = tmp_path_factory.mktemp("heads")
    media = MediaFolder(root / "media")
    stage = replace(FIT, scope="language-model", rate=1e-2, epochs=30)
    fitted(root / "head", media, stage=stage, source="live")
    return root


def test_heads_pass_the_battery_and_know_what_they_learned(head_folder: Path) -> None:
    media = MediaFolder(head_folder / "media")
    views = [example.view for example in examples(media, 2)]

    def make(settings: str = "") -> Any:
        return make_subject(f"head:{head_folder / 'head'}{settings or '?max_new_tokens=5'}")

    replies = check_subject(make, views, media, examples=examples(media), change=lambda: make("?max_new_tokens=3"))
    assert [reply.text.split()[0] for reply in replies] == ["red", "blue"]
    assert all((reply.stop == "end") == (reply.tokens_out < 5) for reply in replies)
    card = make("?batch=2").card
    assert card.attributes["tower"] == "tiny/siglip-1"
    assert card.name == f"head:{head_folder / 'head'}"


def test_answers_do_not_depend_on_the_other_prompts_of_a_batch(head_folder: Path) -> None:
    """Prompts of different lengths, padded on the left, with and without images, give the same tokens as one by one."""
    media = MediaFolder(head_folder / "media")
    views = [example.view for example in examples(media, 6)]
    views = [replace(view, question="word " * n + "colour?") for n, view in enumerate(views)]
    views += [replace(views[0], query=())]
    name = f"head:{head_folder / 'head'}?max_new_tokens=8"
    together = ask(make_subject(f"{name}&batch=8"), views, media)
    alone = [ask(make_subject(f"{name}&batch=1"), [view], media)[0] for view in views]
    assert [replace(reply, seconds=0) for reply in together] == [replace(reply, seconds=0) for reply in alone]
    assert len({reply.text for reply in alone}) > 1


def test_a_folder_of_heads_answers_each_task_with_its_own_head(head_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "task").symlink_to(head_folder / "head")
    (tmp_path / "colour").mkdir()
    (tmp_path / "colour" / UNSTABLE).write_text("the loss is not finite")
    subject = make_subject(f"head:{tmp_path}")
    media = MediaFolder(head_folder / "media")
    view = examples(media, 1)[0].view

    def reason(task: str) -> str | None:
        other = replace(view, task=task)
        return subject.declines(Prompt(plain(other), (other,)))

    assert reason("task") is None
    assert reason("ocr") == "no head was trained for ocr"
    assert reason("colour") == "unstable: the head for colour diverged during training"
    video = replace(view, query=(Media("0" * 64, "video", "mp4", 8, 8, 1.0),))
    assert subject.declines(Prompt(plain(video), (video,))) == "cannot be shown a video"
    fitted(tmp_path / "ocr", media, task="ocr")
    views = [replace(view, task=task) for task in ("task", "ocr", "task")]
    replies = ask(make_subject(f"head:{tmp_path}"), views, media)
    assert [Path(reply.model).name for reply in replies] == ["task", "ocr", "task"]


def test_boxes_are_learned_with_two_decimals(media: MediaFolder) -> None:
    example = examples(media, 1)[0]
    view = replace(example.view, options=(), reply=ReplySpec("box"))
    prompt = Prompt(plain(view), (view,))
    target = view.reply.write((0.123456, 0.5, 0.999, 1.0))
    conversation = fitting.conversation_of(TrainingExample(view, None, prompt, target))
    assert conversation.turns == (ConversationTurn(prompt.parts, "[0.12, 0.5, 1.00, 1.0]"),)  # type: ignore[arg-type]
    with pytest.raises(SnellenError, match="item 0: is asked in several calls"):
        fitting.conversation_of(replace(example, prompt=None))


def test_invalid_heads_and_settings_are_named(head_folder: Path, tmp_path: Path, media: MediaFolder) -> None:
    with pytest.raises(SnellenError, match="no trained head there"):
        make_subject(f"head:{tmp_path}")
    with pytest.raises(SnellenError, match="did you mean 'batch'"):
        make_subject(f"head:{head_folder / 'head'}?batsh=3")
    with pytest.raises(SnellenError, match="must be a whole number from 1"):
        make_subject(f"head:{head_folder / 'head'}?batch=0")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in (files.CARD, files.WEIGHTS):
        (copy / name).write_bytes((head_folder / "head" / name).read_bytes())
    (copy / files.WEIGHTS).write_bytes((copy / files.WEIGHTS).read_bytes()[:-8] + b"altered!")
    with pytest.raises(SnellenError, match="the file was changed"):
        files.load_head(copy)
    (copy / files.CARD).write_text('{"schema_version": 2}')
    with pytest.raises(SnellenError, match="not the card of a training"):
        files.load_head(copy)
    with pytest.raises(SnellenError, match="not a readable image"):
        fitting.train_head(
            plan(),
            [Conversation("", (ConversationTurn((tmp_path / "no.png", "?"), "1"),))],
            copy / "x",
            features.opener(None),
        )


def test_a_missing_device_is_one_line(media: MediaFolder, tmp_path: Path) -> None:
    for source in ("live", "cached"):
        with pytest.raises(SnellenError, match=r"no device 'cuda:99'.*; leave out --device") as refusal:
            fitted(tmp_path / "head", media, device="cuda:99", source=source)
        assert "\n" not in str(refusal.value)
    fitted(tmp_path / "head", media)
    with pytest.raises(SnellenError, match=r"no device 'cuda:99'.*; leave out device="):
        ask(make_subject(f"head:{tmp_path / 'head'}?device=cuda:99"), [examples(media, 1)[0].view], media)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            lambda: torch.OutOfMemoryError("CUDA out of\nmemory"),
            "out of memory on cpu, even with one question; use another device=",
        ),
        (lambda: SnellenError("its images do not fit"), "its images do not fit"),
    ],
)
def test_what_cannot_be_answered_fails_with_one_line(
    error: Callable[[], Exception], reason: str, media: MediaFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise error()

    fitted(tmp_path / "head", media)
    monkeypatch.setattr("snellen.towers.heads.answering.generate", full)
    views = [example.view for example in examples(media, 2)]
    with pytest.raises(CallFailed, match=f"^{reason}$"):
        ask(make_subject(f"head:{tmp_path / 'head'}"), views, media)


def test_full_memory_of_an_encoder_names_the_setting_to_lower() -> None:
    def full() -> None:
        with inference():
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB\nand so on")

    with pytest.raises(SnellenError, match=r"^out of memory on the GPU; use a smaller batch= \(encoder:NAME"):
        full()


def test_a_fingerprint_changes_with_everything_that_a_head_is_made_from(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tower_fingerprint", "language_model_digest"):
        monkeypatch.setattr(f"{fitting.module_name}.{name}", lambda spec: spec)
    monkeypatch.setattr(f"{fitting.module_name}.read_head_card", lambda base: SimpleNamespace(weights=str(base)))
    plan, turn = fitting.HeadPlan("t", "l", STAGES["fit"], Path("b")), ConversationTurn(("Which?",), "red")
    changes = {"tower": "u"}, {"language_model": "m"}, {"base": Path("c")}, {"base": None}, {"stage": STAGES["tune"]}
    marks = [
        fitting.plan_fingerprint(replace(plan, **change), [Conversation("c", (turn,))]) for change in ({}, *changes)
    ]
    marks.append(fitting.plan_fingerprint(plan, [Conversation("c", (replace(turn, reply="blue"),))]))
    assert len(set(marks)) == 7
    assert fitting.plan_fingerprint(replace(plan, device="cuda"), [Conversation("c", (turn,))]) == marks[0]
