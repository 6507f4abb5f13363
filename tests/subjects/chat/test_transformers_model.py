"""Chat models of transformers in this process: tiny random ones, real templates, processors and generation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Media, Montage, Option, ReplySpec, View
from snellen.core.prompt import Prompt, Reply, Turn
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.subjects.chat import TransformersChat, make_chat
from snellen.subjects.chat.batching import Batches
from snellen.subjects.chat.transformers_model import apply_template
from snellen.subjects.registry import make_subject
from tests.contracts.subject_battery import check_subject
from tests.helpers.refusals import assert_refused
from tests.subjects.chat import tiny_models

torch, transformers = tiny_models.torch, tiny_models.transformers

FAMILIES = {"llava": tiny_models.llava, "idefics3": tiny_models.idefics3, "qwen2_vl": tiny_models.qwen2_vl}
SHORT = {"dtype": "float32", "device": "cpu", "max_new_tokens": "12"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in FAMILIES.items()}


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def noise(media: MediaFolder, mark: int, width: int = 30, height: int = 20) -> Media:
    pixels = np.random.default_rng(mark).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return media.add_image(Image.fromarray(pixels))


def chat(folder: Path, **settings: str) -> TransformersChat:
    made = make_chat(f"hf/{folder}", SHORT | settings)
    assert isinstance(made, TransformersChat)
    return made


def ask(who: TransformersChat, media: MediaFolder, *prompts: Prompt, start: int = 0) -> list[Reply]:
    """All at the same time; the n-th call has the random stream n."""

    async def together() -> list[Reply]:
        calls = (who.answer(prompt, media, stream("ask", start + n)) for n, prompt in enumerate(prompts))
        return await asyncio.gather(*calls)

    return asyncio.run(together())


def batches_seen(who: TransformersChat) -> list[int]:
    """The sizes of the batches from now on."""
    sizes: list[int] = []
    work = who.batches.work

    def watched(jobs: Sequence[Any]) -> Any:
        sizes.append(len(jobs))
        return work(jobs)

    who.batches.work = watched
    return sizes


def prompts(media: MediaFolder) -> list[Prompt]:
    """Of different lengths, with none to three images of different shapes, one with an earlier turn."""
    one, two, three = noise(media, 1), noise(media, 2, 50, 50), noise(media, 3, 17, 40)
    return [
        Prompt(("What is it?", one), ()),
        Prompt((two, "Which is the odd one out of these? Say A or B.", three, "And here?", one), ()),
        Prompt(("Is it red?",), ()),
        Prompt((three,), (), (Turn((one, "Look."), "I see."),)),
        Prompt(("A much longer question without any image in it, is it?",), ()),
    ]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("temperature", ["0", "0.8"])
def test_a_batch_says_what_each_prompt_alone_does(
    models: dict[str, Path], media: MediaFolder, family: str, temperature: str
) -> None:
    who = chat(models[family], temperature=temperature)
    asked = prompts(media)
    sizes = batches_seen(who)
    together = ask(who, media, *asked)
    assert sorted(sizes) == [2, 3]  # those with images, and those without
    alone = [ask(who, media, prompt, start=n)[0] for n, prompt in enumerate(asked)]
    assert [replace(reply, seconds=0) for reply in together] == [replace(reply, seconds=0) for reply in alone]
    assert len({reply.text for reply in together}) == len(asked)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reply_is_what_transformers_generates(models: dict[str, Path], media: MediaFolder, family: str) -> None:
    """Against the model's own chat template, processor and greedy generation, taken straight from transformers."""
    image = noise(media, 4)
    who = chat(models[family])
    reply = ask(who, media, Prompt(("See ", image, "?"), ()))[0]
    processor = who.checkpoint.processor
    blocks = [{"type": "text", "text": "See "}, {"type": "image", "image": media.open(image)}]
    talk = [{"role": "user", "content": [*blocks, {"type": "text", "text": "?"}]}]
    inputs = processor.apply_chat_template(
        talk, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    model = transformers.AutoModelForImageTextToText.from_pretrained(models[family], dtype=torch.float32).eval()
    made = model.generate(**inputs, do_sample=False, max_new_tokens=12)[0, inputs["input_ids"].shape[1] :]
    assert reply.text == processor.tokenizer.decode(made, skip_special_tokens=True)
    assert (reply.tokens_in, reply.tokens_out) == (inputs["input_ids"].shape[1], len(made))
    assert reply.model == str(models[family])
    assert reply.seconds > 0


def test_parts_and_turns_keep_their_order(models: dict[str, Path], media: MediaFolder) -> None:
    one, two, three = noise(media, 1), noise(media, 2, 9, 7), noise(media, 3)
    prompt = Prompt(("Now ", three, "?"), (), (Turn((one, "then", two), "Yes."),))
    asked = apply_template(chat(models["llava"]).checkpoint.processor, prompt, media)
    assert asked.text == "<s>[user]<image>then<image><end>[assistant]Yes.<end>[user]Now <image>?<end>[assistant]"
    assert [image.size for image in asked.images] == [(30, 20), (9, 7), (30, 20)]
    stored = [media.open(one), media.open(two), media.open(three)]
    assert [image.tobytes() for image in asked.images] == [image.tobytes() for image in stored]


def test_how_the_checkpoint_likes_to_sample_is_not_asked(
    models: dict[str, Path], media: MediaFolder, tmp_path: Path
) -> None:
    told = {"do_sample": True, "temperature": 3.0, "repetition_penalty": 5.0, "max_new_tokens": 2}
    folder = tiny_models.llava(tmp_path)
    (folder / "generation_config.json").write_text(json.dumps(told | {"eos_token_id": [258, 7]}))
    prompt = Prompt((noise(media, 5), "What?"), ())
    usual = ask(chat(models["llava"]), media, prompt)[0]
    wild = chat(folder)
    assert ask(wild, media, prompt)[0].text == usual.text
    assert wild.checkpoint.model.generation_config.eos_token_id == [258, 7]


def says(who: TransformersChat, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Make the model say these words, as far as the token limit lets it."""

    def generate(input_ids: Any, max_new_tokens: int, **_: Any) -> Any:
        said = who.checkpoint.processor.tokenizer(words, add_special_tokens=False).input_ids[:max_new_tokens]
        return torch.cat([input_ids, torch.tensor([said] * len(input_ids))], 1)

    monkeypatch.setattr(who.checkpoint.model, "generate", generate)


@pytest.mark.parametrize(
    ("words", "opened", "expected"),
    [
        ("B<end><pad><pad>", "", ("B", "", "end", 2)),
        ("a red cup, and more", "", ("a red cup, a", "", "length", 12)),
        ("<think>hm</think>", "", ("", "hm</t", "length", 12)),  # cut off before the thought ends
        ("hm</think>B<end>", "<think>\n", ("B", "hm", "end", 12)),
        ("so, as I see it", "<think>", ("", "so, as I see", "length", 12)),
    ],
)
def test_only_what_was_generated_is_the_reply(
    tmp_path: Path,
    media: MediaFolder,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    opened: str,
    expected: tuple[str, str, str, int],
) -> None:
    folder = tiny_models.llava(tmp_path / "model")
    with (folder / "chat_template.jinja").open("a") as file:
        file.write(opened)
    who = chat(folder)
    says(who, monkeypatch, words)
    reply = ask(who, media, Prompt(("Q",), ()))[0]
    text, thought, stop, count = expected
    assert (reply.text, reply.reasoning, reply.stop, reply.tokens_out) == (text, thought, stop, count)


def test_one_prompt_that_breaks_does_not_fail_the_others(models: dict[str, Path], media: MediaFolder) -> None:
    who = chat(models["llava"])
    sizes = batches_seen(who)

    async def together() -> list[Reply | BaseException]:
        words = ("short?", "long " * 600, "short too?")
        calls = (who.answer(Prompt((text,), ()), media, stream("ask", 0)) for text in words)
        return await asyncio.gather(*calls, return_exceptions=True)

    first, broken, last = asyncio.run(together())
    assert sizes == [3]
    assert isinstance(broken, CallFailed)
    assert str(broken) == f"the prompt has {len('<[user]<[assistant]') + 3000} tokens, and the model reads at most 2048"
    assert isinstance(first, Reply)
    assert first.text == ask(who, media, Prompt(("short?",), ()))[0].text
    assert isinstance(last, Reply)


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB\nand so on"), "out of memory on cpu"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 9"), "out of memory on cpu"),
        (IndexError("index out of range\nin self"), "IndexError: index out of range"),
    ],
)
def test_what_a_model_raises_is_a_failed_call(
    models: dict[str, Path], media: MediaFolder, monkeypatch: pytest.MonkeyPatch, raised: Exception, message: str
) -> None:
    who = chat(models["llava"])

    def generate(**_: Any) -> Any:
        raise raised

    monkeypatch.setattr(who.checkpoint.model, "generate", generate)
    with pytest.raises(CallFailed) as caught:
        ask(who, media, Prompt(("Q",), ()))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_template_that_refuses_is_a_failed_call(tmp_path: Path, media: MediaFolder) -> None:
    folder = tiny_models.llava(tmp_path / "model")
    (folder / "chat_template.jinja").write_text("{{ raise_exception('roles must alternate') }}")
    with pytest.raises(CallFailed, match="the chat template fails: roles must alternate"):
        ask(chat(folder), media, Prompt(("Q",), ()))


@pytest.mark.parametrize("family", FAMILIES)
def test_subject_battery(models: dict[str, Path], media: MediaFolder, family: str) -> None:
    options = (Option("a", "red"), Option("b", "blue"))
    spec = ReplySpec("choice", (("A", "a"), ("B", "b")))
    views = [View(f"v{n}", f"s{n}", "colour", "Which?", (noise(media, n),), spec, options) for n in range(2)]
    short = SHORT | {"max_new_tokens": "3", "temperature": "0.5"}
    check_subject(
        lambda: make_chat(f"hf/{models[family]}", short),
        views,
        media,
        change=lambda: make_chat(f"hf/{models[family]}", short | {"seed": "1"}),
    )


def test_what_is_declined(models: dict[str, Path], media: MediaFolder) -> None:
    clip = media.add(b"not really", "video", "mp4", (8, 6), 1.0)
    image = noise(media, 1)
    who = chat(models["llava"], max_images="1")
    assert who.declines(Prompt((image, "?"), ())) is None
    assert who.declines(Prompt((image, image), ())) == "takes 1 images at once, not 2"
    assert who.declines(Prompt((clip,), ())) == "cannot be shown a video"
    told = "the words contain '<image>', which stands for an image in this model"
    assert who.declines(Prompt(("What is <image>?",), ())) == told
    assert who.declines(Prompt(("And?",), (), (Turn(("Q",), "an <image>"),))) == told
    with pytest.raises(SnellenError, match="laid out"):
        ask(who, media, Prompt((Montage((image,), 1),), ()))
    with pytest.raises(SnellenError, match="frames of a video"):
        ask(who, media, Prompt(("Q",), (), (Turn((clip,), "A"),)))


def test_card(models: dict[str, Path], tmp_path: Path) -> None:
    folder = models["llava"]
    usual = chat(folder).card
    assert usual.name == f"chat:hf/{folder}?max_new_tokens=12&dtype=float32"
    assert usual.accepts == {"image"}
    assert usual.max_concurrency == 16
    assert usual.attributes == {"provider": "hf", "family": "llava", "price_in": "0", "price_out": "0"}
    assert chat(folder, batch="3", frames="1fps").card.attributes["frames"] == "1fps"
    assert make_subject(f"chat:hf/{folder}?dtype=float32&device=cpu&max_new_tokens=12").card == usual
    changes = [{"temperature": "1"}, {"batch": "2"}, {"seed": "5"}, {"max_new_tokens": "9"}, {"frames": "8"}]
    marks = {chat(folder, **change).card.fingerprint() for change in [{}, *changes]}
    assert len(marks) == 6
    assert chat(folder, max_images="3").card.fingerprint() in marks  # changes no answer
    same = chat(tiny_models.llava(tmp_path)).card  # not the place counts, but what is there
    assert same.settings == usual.settings


def test_another_template_is_another_subject(models: dict[str, Path], tmp_path: Path) -> None:
    folder = tiny_models.llava(tmp_path)
    path = folder / "chat_template.jinja"
    path.write_text(path.read_text().replace("[assistant]", "[model]"))
    assert chat(folder).card.settings["weights"] != chat(models["llava"]).card.settings["weights"]


def _without(folder: Path, name: str) -> Path:
    (folder / name).unlink()
    return folder


def test_what_cannot_be_used_is_one_clear_line(tmp_path: Path, models: dict[str, Path]) -> None:
    lfm = tiny_models.llava(tmp_path / "lfm")
    transformers.Lfm2VlConfig().save_pretrained(lfm)
    for name in ("preprocessor_config.json", "processor_config.json"):
        (lfm / name).write_text(json.dumps({"image_processor_type": "Lfm2VlImageProcessor"}))
    vit = tmp_path / "vit"
    transformers.ViTConfig().save_pretrained(vit)
    wanted: list[tuple[Path, dict[str, str], str]] = [
        (lfm, {}, "the processor of lfm2_vl models cannot be used here"),
        (vit, {}, f"vit does not answer texts with images; a vision encoder is encoder:hf/{vit}"),
        (tmp_path / "nothing", {}, "no such model"),
        (_without(tiny_models.llava(tmp_path / "a"), "chat_template.jinja"), {}, "has no chat template"),
        (_without(tiny_models.llava(tmp_path / "b"), "tokenizer.json"), {}, "no processor"),
        (models["llava"], {"max_tokens": "3"}, "did you mean 'max_new_tokens'?"),
        (models["llava"], {"dtype": "float8"}, "dtype='float8': did you mean 'float"),
        (models["llava"], {"device": "gpu"}, "must be auto, cpu, cuda"),
        (models["llava"], {"accepts": "image+video"}, "shown as frames"),
    ]
    for folder, settings, told in wanted:
        assert_refused(partial(make_chat, f"hf/{folder}", settings), told)


def test_weights_that_are_missing_stop_the_run(tmp_path: Path, media: MediaFolder) -> None:
    who = chat(_without(tiny_models.llava(tmp_path), "model.safetensors"))
    with pytest.raises(SnellenError, match="cannot be loaded"):
        ask(who, media, Prompt(("Q",), ()))


def test_batches_fill_while_one_is_worked_on() -> None:
    """Two at a time, like with like; a cancelled job is not done, an error is raised where it belongs."""
    done: list[list[int]] = []

    def work(jobs: Sequence[int]) -> list[int | Exception]:
        done.append(list(jobs))
        return [ValueError("seven") if job == 7 else 10 * job for job in jobs]

    batches: Batches[int, int] = Batches(work, 2, alike=lambda job: job % 2, wait=0.001)

    async def together() -> list[int | BaseException]:
        tasks = [asyncio.create_task(batches.do(job)) for job in (1, 2, 3, 5, 4, 7)]
        await asyncio.sleep(0)
        tasks[3].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    for _ in range(2):  # a second event loop finds nothing of the first
        done.clear()
        results = asyncio.run(together())
        assert done == [[1, 3], [2, 4], [7]]
        assert [results[n] for n in (0, 1, 2, 4)] == [10, 20, 30, 40]
        assert isinstance(results[3], asyncio.CancelledError)
        assert isinstance(results[5], ValueError)
