"""Attention rollout: compared with the plain product of matrices, its memory, and the spans of prompt parts."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from examples.attention import rollout
from examples.attention.rollout import Rollout, attention_of, role_shares, span_shares, top_tokens, visual_shares
from examples.attention.rollout_files import heat, overlay, write_attention
from examples.attention.spans import Span, Tile
from snellen.core.errors import SnellenError
from snellen.core.item import Demo, Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt, Turn
from snellen.core.storage.media import MediaFolder
from snellen.subjects.chat import TransformersChat, make_chat
from tests.subjects.chat import tiny_models

torch, transformers = tiny_models.torch, tiny_models.transformers

FAMILIES = {
    "llava": tiny_models.llava,
    "idefics3": tiny_models.idefics3,
    "qwen2_vl": tiny_models.qwen2_vl,
    "gemma3": tiny_models.gemma3,
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TransformersChat]:
    return {name: chat(make(tmp_path_factory.mktemp(name))) for name, make in FAMILIES.items()}


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def chat(folder: Path) -> TransformersChat:
    model = make_chat(f"hf/{folder}", {"dtype": "float32", "device": "cpu", "max_new_tokens": "6"})
    assert isinstance(model, TransformersChat)
    return model


def noise(media: MediaFolder, mark: int, width: int = 40, height: int = 20) -> Media:
    pixels = np.random.default_rng(mark).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return media.add_image(Image.fromarray(pixels))


def episode(media: MediaFolder) -> Prompt:
    """Two solved examples and a query, after an earlier turn."""
    demos, query = [noise(media, 1), noise(media, 2, 20, 20)], noise(media, 3, 16, 24)
    support = tuple(Demo((image,), "a", shot) for shot, image in enumerate(demos))
    view = View("v", "s", "t", "Q?", (query,), ReplySpec("choice", (("A", "a"),)), (Option("a", "A"),), support)
    return Prompt((demos[0], "good", demos[1], "bad", query, " Which? "), (view,), (Turn(("user",), "s"),))


def plain_product(chat_model: TransformersChat, prompt: Prompt, media: MediaFolder, reply: str) -> Any:
    """Appendix D in numpy, all matrices at once: rows of the last position, (layers, n)."""
    processor = chat_model.checkpoint.processor
    blocks = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": media.open(part)}
        for part in prompt.parts
        if isinstance(part, str | Media)
    ]
    history = [
        {"role": role, "content": [{"type": "text", "text": text}]}
        for turn in prompt.history
        for role, text in (("user", str(turn.parts[0])), ("assistant", turn.reply))
    ]
    text = processor.apply_chat_template([*history, {"role": "user", "content": blocks}], add_generation_prompt=True)
    images = [[block["image"] for block in blocks if "image" in block]]
    inputs = processor(text=[text + reply], images=images, return_tensors="pt", add_special_tokens=False)
    path = chat_model.checkpoint.path
    model = transformers.AutoModelForImageTextToText.from_pretrained(path, attn_implementation="eager").eval()
    with torch.inference_mode():
        matrices = model(**inputs, output_attentions=True).attentions
    product, rows = np.eye(inputs["input_ids"].shape[1]), []
    for matrix in matrices:
        step = matrix[0].double().numpy().mean(0) + np.eye(len(product))
        product = step / step.sum(1, keepdims=True) @ product
        rows.append(product[-1])
    return np.stack(rows)


@pytest.mark.parametrize("family", FAMILIES)
def test_rollout_is_the_plain_product(models: dict[str, TransformersChat], media: MediaFolder, family: str) -> None:
    model, prompt = models[family], episode(media)
    before = model.checkpoint.model.get_decoder().config._attn_implementation
    attention = attention_of(model, prompt, media, "bad", reply="so bad")
    expected = plain_product(model, prompt, media, "so ")
    assert attention.rows.shape == (2, len(attention.token_texts))
    assert np.allclose(attention.rows, expected, atol=1e-6)
    assert (attention.token, attention.reply, attention.token_texts[-3:]) == ("b", "so bad", ("s", "o", " "))
    assert before != "eager"
    assert model.checkpoint.model.get_decoder().config._attn_implementation == before
    first = attention_of(model, prompt, media, reply="so bad")
    assert np.allclose(first.rows, plain_product(model, prompt, media, ""), atol=1e-6)


def test_never_more_than_one_layer_is_in_memory(
    tmp_path: Path, media: MediaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the storage of every layer's matrices is tracked: it must be freed when the next layer is multiplied in."""
    from torch.multiprocessing.reductions import StorageWeakRef

    layers = 5
    model = chat(tiny_models.llava(tmp_path / "model", num_hidden_layers=layers))
    storages: list[Any] = []
    alive: list[int] = []
    softmax = torch.nn.functional.softmax

    def watched(values: Any, *args: Any, **kwargs: Any) -> Any:
        weights = softmax(values, *args, **kwargs)
        if weights.shape[1] == tiny_models.TEXT["num_attention_heads"] and weights.shape[-1] == weights.shape[-2] > 17:
            alive.append(sum(not storage.expired() for storage in storages))
            storages.append(StorageWeakRef(weights.untyped_storage()))  # type: ignore[no-untyped-call]  # torch's
        return weights

    monkeypatch.setattr(torch.nn.functional, "softmax", watched)
    attention = attention_of(model, episode(media), media, reply="A")
    assert len(attention.rows) == layers
    assert alive == [0] * layers
    alive.clear()
    inputs = model.checkpoint.processor(text=["<s>what is it? a red cup"], return_tensors="pt")
    model.checkpoint.model.set_attn_implementation("eager")
    layers_kept = model.checkpoint.model(
        **inputs, output_attentions=True
    ).attentions  # the tracking does see matrices that stay
    assert alive == list(range(len(layers_kept)))


def words(rollout: Rollout, span: Span) -> str:
    return "".join(rollout.token_texts[span.start : span.stop])


def test_spans_of_a_whole_prompt(models: dict[str, TransformersChat], media: MediaFolder) -> None:
    attention = attention_of(models["llava"], episode(media), media, 2, reply="abc")
    image = "<image>" * 16
    assert [(span.name, span.role, words(attention, span)) for span in attention.spans] == [
        ("template", "", "<s>[user]"),
        ("text 0", "", "user"),  # not the template's own
        ("template", "", "<end>[assistant]"),
        ("text 1", "", "s"),
        ("template", "", "<end>[user]"),
        ("image 2", "first demo", image),
        ("text 3", "", "good"),
        ("image 4", "demo", image),
        ("text 5", "", "bad"),
        ("image 6", "query", image),
        ("text 7", "", " Which? "),
        ("template", "", "<end>[assistant]"),
        ("reply", "", "ab"),
    ]
    assert [span.start for span in attention.spans[1:]] == [span.stop for span in attention.spans[:-1]]
    assert attention.spans[-1].stop == len(attention.token_texts)


@pytest.mark.parametrize(
    ("family", "tokens", "tiles"),
    [
        # cut from the middle: 20 by 20 of 40 by 20 pixels
        ("llava", 16, [Tile(0, 4, 4, (10, 0, 30, 20))]),
        # one row of two tiles and the whole: two marks before the tokens of each, two line breaks, one mark after
        (
            "idefics3",
            2 * 6 + 2 + 6 + 1,
            [Tile(0, 2, 2, (0, 0, 20, 20)), Tile(4, 2, 2, (20, 0, 40, 20)), Tile(8, 2, 2, (0, 0, 40, 20))],
        ),
        # resized to 40 by 16 pixels, 8 by 8 per token
        ("qwen2_vl", 10, [Tile(0, 2, 5, (0, 0, 40, 20))]),
        # made square; a mark and two line breaks on either side
        ("gemma3", 3 + 4 + 3, [Tile(0, 2, 2, (0, 0, 40, 20))]),
    ],
)
def test_which_pixels_tokens_stand_for(
    models: dict[str, TransformersChat], media: MediaFolder, family: str, tokens: int, tiles: Sequence[Tile]
) -> None:
    attention = attention_of(models[family], Prompt((noise(media, 1), "What?"), ()), media, reply="A")
    (span,) = attention.images
    assert span.stop - span.start == tokens
    assert span.tiles == tuple(tiles)
    assert len(span.visual_tokens) == sum(tile.rows * tile.columns for tile in tiles)
    token = models[family].checkpoint.config.image_token_id
    assert {attention.token_texts[index] for index in span.visual_tokens} == {
        models[family].checkpoint.processor.tokenizer.decode([token])
    }


def rollout_by_hand(media: MediaFolder) -> Rollout:
    """By hand: one layer, an image of four tokens, a word, an image of one token."""
    first, second = noise(media, 1, 6, 4), noise(media, 2, 2, 2)
    box = (1.0, 0.0, 5.0, 4.0)
    spans = (
        Span("image", 0, 5, 0, first, "first demo", (0, 1, 2, 3), (Tile(0, 2, 2, box),)),
        Span("text", 5, 6, 1),
        Span("image", 6, 7, 2, second, "query", (6,)),
    )
    rows = np.array([[0.1, 0.2, 0.0, 0.1, 0.05, 0.35, 0.2]], dtype=np.float32)
    return Rollout("A", "A", rows, tuple("abcdefg"), spans)


def test_shares_and_tops(media: MediaFolder) -> None:
    attention = rollout_by_hand(media)
    assert np.allclose(span_shares(attention), [[0.45, 0.35, 0.2]])
    assert np.allclose(visual_shares(attention), [[2 / 3, 1 / 3]])
    assert np.allclose(role_shares(attention, "query"), [1 / 3])
    assert np.allclose(role_shares(attention, "first demo"), [2 / 3])
    assert top_tokens(attention, 3).tolist() == [[5, 1, 6]]
    assert top_tokens(attention, 30, visual=True).tolist() == [[1, 6, 0, 3, 2]]


def test_heat_is_on_the_visible_pixels(media: MediaFolder) -> None:
    attention = rollout_by_hand(media)
    span = attention.images[0]
    expected = np.array([[0, 1, 1, 2, 2, 0], [0, 1, 1, 2, 2, 0], [0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 0]]) / 40
    assert np.allclose(heat(attention, span), expected)
    twice = replace(span, tiles=(Tile(0, 1, 2, (0, 0, 6, 4)), Tile(2, 1, 2, (0, 0, 6, 4))))  # shares 0.1 0.2, 0.0 0.1
    assert np.allclose(heat(attention, twice), np.tile([0.1 / 12] * 3 + [0.3 / 12] * 3, (4, 1)))
    with pytest.raises(ValueError, match="image 2: which pixels"):
        heat(attention, attention.images[1])
    lit = np.asarray(overlay(Image.new("RGB", (6, 4), "grey"), heat(attention, span))).sum(2)
    assert lit[0, 3] > lit[0, 1] > lit[0, 0]


def test_files(models: dict[str, TransformersChat], media: MediaFolder, tmp_path: Path) -> None:
    attention = attention_of(models["idefics3"], episode(media), media)
    paths = write_attention(attention, media, tmp_path / "out")
    names = ["shares.csv", "top.csv", "image-2.png", "image-4.png", "image-6.png"]
    assert [path.name for path in paths] == names
    assert Image.open(paths[4]).size == (16, 24)
    shares = [*csv.DictReader(paths[0].open())]
    assert len(shares) == 2 * len(attention.spans)
    last = [row for row in shares if row["layer"] == "1"]
    assert sum(float(row["share"]) for row in last) == pytest.approx(1, abs=1e-5)
    query = next(row for row in last if row["role"] == "query")
    assert float(query["share_of_visual"]) == pytest.approx(role_shares(attention, "query")[1], abs=1e-6)
    top = [*csv.DictReader(paths[1].open())]
    assert {row["among"] for row in top} == {"all", "visual"}
    best = next(row for row in top if (row["among"], row["layer"], row["rank"]) == ("visual", "0", "1"))
    assert best["token"] == "<image>"
    assert float(best["share"]) == pytest.approx(attention.rows[0, attention.visual].max(), abs=1e-6)


def test_the_default_reply_is_the_model_s_own(models: dict[str, TransformersChat], media: MediaFolder) -> None:
    model, prompt = models["qwen2_vl"], episode(media)
    own = attention_of(model, prompt, media, 3)
    tokenizer = model.checkpoint.processor.tokenizer
    assert len(tokenizer(own.reply, add_special_tokens=False).input_ids) >= 3
    forced = attention_of(model, prompt, media, 0)
    assert own.token_texts[: len(forced.token_texts)] == forced.token_texts
    assert len(own.token_texts) == len(forced.token_texts) + 3


@pytest.mark.parametrize(
    ("token", "message"),
    [("good", "'so bad' does not hold 'good'"), ("", "does not hold ''"), (6, "tokens 0 to 5, not 6")],
)
def test_a_missing_token_is_refused(
    models: dict[str, TransformersChat], media: MediaFolder, token: str | int, message: str
) -> None:
    with pytest.raises(SnellenError, match=message):
        attention_of(models["llava"], episode(media), media, token, reply="so bad")


def test_unsupported_prompts_and_models_are_refused(
    models: dict[str, TransformersChat], media: MediaFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = models["llava"]
    with pytest.raises(SnellenError, match="declines this prompt: the words contain '<image>'"):
        attention_of(model, Prompt(("<image>?",), ()), media)
    padded = replace(model, settings=replace(model.settings, pad="square"))
    with pytest.raises(SnellenError, match="places in padded images are not known; leave out pad="):
        attention_of(padded, episode(media), media)
    shouting = tiny_models.llava(tmp_path / "shouting")
    template = shouting / "chat_template.jinja"
    template.write_text(template.read_text().replace("block['text']", "block['text'] | upper"))
    with pytest.raises(SnellenError, match="changes the words it is given"):
        attention_of(chat(shouting), Prompt(("is it?",), ()), media)
    trimming = tiny_models.llava(tmp_path / "trimming")
    template = trimming / "chat_template.jinja"
    template.write_text(template.read_text().replace("block['text']", "block['text'] | trim"))
    attention = attention_of(chat(trimming), Prompt((" is it? ",), ()), media)
    assert [words(attention, span) for span in attention.spans if span.kind == "text"] == ["is it?"]
    monkeypatch.setattr(rollout, "_attention", lambda layer: layer.mlp)
    with pytest.raises(SnellenError, match="no attention matrix over the whole prompt"):
        attention_of(model, episode(media), media)
    assert not any(layer.mlp._forward_hooks for layer in model.checkpoint.model.get_decoder().layers)
