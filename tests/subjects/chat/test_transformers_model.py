"""Chat models of transformers in this process: tiny random models with real templates, processors and generation."""

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
    subject = make_chat(f"hf/{folder}", SHORT | settings)
    assert isinstance(subject, TransformersChat)
    return subject


def ask(subject: TransformersChat, media: MediaFolder, *prompts: Prompt, start: int = 0) -> list[Reply]:
    """The replies to concurrent calls; call n has the random stream n."""

    async def together() -> list[Reply]:
        calls = (subject.answer(prompt, media, stream("ask", start + n)) for n, prompt in enumerate(prompts))
        return await asyncio.gather(*calls)

    return asyncio.run(together())


def batches_seen(subject: TransformersChat) -> list[int]:
    """A list that collects the sizes of all later batches."""
    sizes: list[int] = []
    work = subject.batches.work

    def watched(jobs: Sequence[Any]) -> Any:
        sizes.append(len(jobs))
        return work(jobs)

    subject.batches.work = watched
    return sizes


def prompts(media: MediaFolder) -> list[Prompt]:
    """Prompts of different lengths, with zero to three images of different shapes, one with an earlier turn."""
    first, second, third = noise(media, 1), noise(media, 2, 50, 50), noise(media, 3, 17, 40)
    return [
        Prompt(("What is it?", first), ()),
        Prompt((second, "Which is the odd one out of these? Say A or B.", third, "And here?", first), ()),
        Prompt(("Is it red?",), ()),
        Prompt((third,), (), (Turn((first, "Look."), "I see."),)),
        Prompt(("A much longer question without any image in it, is it?",), ()),
    ]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("temperature", ["0", "0.8"])
def test_batched_replies_equal_single_ones(
    models: dict[str, Path], media: MediaFolder, family: str, temperature: str
) -> None:
    subject = chat(models[family], temperature=temperature)
    all_prompts = prompts(media)
    sizes = batches_seen(subject)
    together = ask(subject, media, *all_prompts)
    assert sorted(sizes) == [2, 3]  # the prompts with images, and those without
    alone = [ask(subject, media, prompt, start=n)[0] for n, prompt in enumerate(all_prompts)]
    assert [replace(reply, seconds=0) for reply in together] == [replace(reply, seconds=0) for reply in alone]
    assert len({reply.text for reply in together}) == len(all_prompts)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reply_equals_the_output_of_transformers(models: dict[str, Path], media: MediaFolder, family: str) -> None:
    """Compared with the model's own chat template, processor and greedy generation in transformers."""
    image = noise(media, 4)
    subject = chat(models[family])
    reply = ask(subject, media, Prompt(("See ", image, "?"), ()))[0]
    processor = subject.checkpoint.processor
    blocks = [{"type": "text", "text": "See "}, {"type": "image", "image": media.open(image)}]
    messages = [{"role": "user", "content": [*blocks, {"type": "text", "text": "?"}]}]
    inputs = processor.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    model = transformers.AutoModelForImageTextToText.from_pretrained(models[family], dtype=torch.float32).eval()
    generated = model.generate(**inputs, do_sample=False, max_new_tokens=12)[0, inputs["input_ids"].shape[1] :]
    assert reply.text == processor.tokenizer.decode(generated, skip_special_tokens=True)
    assert (reply.tokens_in, reply.tokens_out) == (inputs["input_ids"].shape[1], len(generated))
    assert reply.model == str(models[family])
    assert reply.seconds > 0


def test_parts_and_turns_keep_their_order(models: dict[str, Path], media: MediaFolder) -> None:
    first, second, third = noise(media, 1), noise(media, 2, 9, 7), noise(media, 3)
    prompt = Prompt(("Now ", third, "?"), (), (Turn((first, "then", second), "Yes."),))
    rendered = apply_template(chat(models["llava"]).checkpoint.processor, prompt, media)
    assert rendered.text == "<s>[user]<image>then<image><end>[assistant]Yes.<end>[user]Now <image>?<end>[assistant]"
    assert [image.size for image in rendered.images] == [(30, 20), (9, 7), (30, 20)]
    stored = [media.open(first), media.open(second), media.open(third)]
    assert [image.tobytes() for image in rendered.images] == [image.tobytes() for image in stored]


def test_texts_in_sequence_are_lines_of_one_block(models: dict[str, Path], media: MediaFolder) -> None:
    """A template that writes blocks without a space would join their words."""
    prompt = Prompt(("Look.", "Closely.", noise(media, 1), "What?", "A or B?"), ())
    rendered = apply_template(chat(models["qwen2_vl"]).checkpoint.processor, prompt, media)
    image = "<|vision_start|><|image_pad|><|vision_end|>"
    assert rendered.text == f"<s>[user]Look.\nClosely.{image}What?\nA or B?<end>[assistant]"


def test_padding_to_a_square_shows_what_the_model_would_cut_off(models: dict[str, Path], media: MediaFolder) -> None:
    """A reply is that to an image padded by hand; without `pad`, LLaVA sees only the square in the middle."""
    pixels = np.random.default_rng(6).integers(0, 256, (20, 40, 3), dtype=np.uint8)
    other, square = pixels.copy(), np.zeros((40, 40, 3), np.uint8)
    other[:, :4] = 255 - other[:, :4]
    square[:] = [int(255 * level) for level in chat(models["llava"]).checkpoint.processor.image_processor.image_mean]
    square[10:30] = pixels
    images = [media.add_image(Image.fromarray(array)) for array in (pixels, other, square)]
    prompts_by_image = [Prompt((image, "What?"), ()) for image in images]
    texts = [reply.text for reply in ask(chat(models["llava"]), media, *prompts_by_image)]
    padded_chat = chat(models["llava"], pad="square")
    padded = [reply.text for reply in ask(padded_chat, media, *prompts_by_image)]
    assert texts[0] == texts[1]
    assert padded[0] == padded[2] == texts[2]
    assert len({*padded, *texts}) == 3
    assert "pad=square" in padded_chat.card.name


def test_the_sampling_settings_of_the_checkpoint_are_ignored(
    models: dict[str, Path], media: MediaFolder, tmp_path: Path
) -> None:
    sampling = {"do_sample": True, "temperature": 3.0, "repetition_penalty": 5.0, "max_new_tokens": 2}
    folder = tiny_models.llava(tmp_path)
    (folder / "generation_config.json").write_text(json.dumps(sampling | {"eos_token_id": [258, 7]}))
    prompt = Prompt((noise(media, 5), "What?"), ())
    usual = ask(chat(models["llava"]), media, prompt)[0]
    wild = chat(folder)
    assert ask(wild, media, prompt)[0].text == usual.text
    assert wild.checkpoint.model.generation_config.eos_token_id == [258, 7]


def says(subject: TransformersChat, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Make the model generate these words, up to the token limit."""

    def generate(input_ids: Any, max_new_tokens: int, **_: Any) -> Any:
        tokens = subject.checkpoint.processor.tokenizer(words, add_special_tokens=False).input_ids[:max_new_tokens]
        return torch.cat([input_ids, torch.tensor([tokens] * len(input_ids))], 1)

    monkeypatch.setattr(subject.checkpoint.model, "generate", generate)


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
    subject = chat(folder)
    says(subject, monkeypatch, words)
    reply = ask(subject, media, Prompt(("Q",), ()))[0]
    text, thought, stop, count = expected
    assert (reply.text, reply.reasoning, reply.stop, reply.tokens_out) == (text, thought, stop, count)


def test_one_prompt_that_breaks_does_not_fail_the_others(models: dict[str, Path], media: MediaFolder) -> None:
    subject = chat(models["llava"])
    sizes = batches_seen(subject)

    async def together() -> list[Reply | BaseException]:
        words = ("short?", "long " * 600, "short too?")
        calls = (subject.answer(Prompt((text,), ()), media, stream("ask", 0)) for text in words)
        return await asyncio.gather(*calls, return_exceptions=True)

    first, broken, last = asyncio.run(together())
    assert sizes == [3]
    assert isinstance(broken, CallFailed)
    assert str(broken) == f"the prompt has {len('<[user]<[assistant]') + 3000} tokens, and the model reads at most 2048"
    assert isinstance(first, Reply)
    assert first.text == ask(subject, media, Prompt(("short?",), ()))[0].text
    assert isinstance(last, Reply)


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (
            lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB\nand so on"),
            "out of memory on cpu",
        ),
        (lambda: RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 9"), "out of memory on cpu"),
        (lambda: IndexError("index out of range\nin self"), "IndexError: index out of range"),
    ],
)
def test_an_exception_of_the_model_is_a_failed_call(
    models: dict[str, Path], media: MediaFolder, monkeypatch: pytest.MonkeyPatch, raised: Any, message: str
) -> None:
    subject = chat(models["llava"])

    def generate(**_: Any) -> Any:
        raise raised()

    monkeypatch.setattr(subject.checkpoint.model, "generate", generate)
    with pytest.raises(CallFailed) as caught:
        ask(subject, media, Prompt(("Q",), ()))
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


def test_videos_and_image_marks_are_declined(models: dict[str, Path], media: MediaFolder) -> None:
    clip = media.add(b"not really", "video", "mp4", (8, 6), 1.0)
    image = noise(media, 1)
    subject = chat(models["llava"], max_images="1")
    assert subject.declines(Prompt((image, "?"), ())) is None
    assert subject.declines(Prompt((image, image), ())) == "takes 1 images at once, not 2"
    assert subject.declines(Prompt((clip,), ())) == "cannot be shown a video"
    reason = "the words contain '<image>', which stands for an image in this model"
    assert subject.declines(Prompt(("What is <image>?",), ())) == reason
    assert subject.declines(Prompt(("And?",), (), (Turn(("Q",), "an <image>"),))) == reason
    with pytest.raises(SnellenError, match="laid out"):
        ask(subject, media, Prompt((Montage((image,), 1),), ()))
    with pytest.raises(SnellenError, match="frames of a video"):
        ask(subject, media, Prompt(("Q",), (), (Turn((clip,), "A"),)))


def test_card(models: dict[str, Path], tmp_path: Path) -> None:
    folder = models["llava"]
    usual = chat(folder).card
    assert usual.name == f"chat:hf/{folder}?dtype=float32"
    assert usual.token_limit == 12
    assert usual.accepts == {"image"}
    assert usual.max_concurrency == 16
    free = {"price_in": "0", "price_out": "0"}
    assert usual.attributes == {"provider": "hf", "family": "llava", "box_unit": "fractions", **free}
    assert chat(folder, batch="3", frames="1fps").card.attributes["frames"] == "1fps"
    assert make_subject(f"chat:hf/{folder}?dtype=float32&device=cpu&max_new_tokens=12").card == usual
    changes = [{"temperature": "1"}, {"batch": "2"}, {"seed": "5"}, {"frames": "8"}]
    marks = {chat(folder, **change).card.fingerprint() for change in [{}, *changes]}
    assert len(marks) == 5
    assert chat(folder, max_new_tokens="9").card.fingerprint() in marks, "it cuts replies off, and changes none"
    assert chat(folder, max_images="3").card.fingerprint() in marks  # changes no answer
    other_card = chat(tiny_models.llava(tmp_path)).card  # the content counts, not the path
    assert other_card.settings == usual.settings


def test_another_template_is_another_subject(models: dict[str, Path], tmp_path: Path) -> None:
    folder = tiny_models.llava(tmp_path)
    path = folder / "chat_template.jinja"
    path.write_text(path.read_text().replace("[assistant]", "[model]"))
    assert chat(folder).card.settings["weights"] != chat(models["llava"]).card.settings["weights"]


def _without(folder: Path, name: str) -> Path:
    (folder / name).unlink()
    return folder


def test_unusable_models_are_one_clear_line(tmp_path: Path, models: dict[str, Path]) -> None:
    lfm = tiny_models.llava(tmp_path / "lfm")
    transformers.Lfm2VlConfig().save_pretrained(lfm)
    for name in ("preprocessor_config.json", "processor_config.json"):
        (lfm / name).write_text(json.dumps({"image_processor_type": "Lfm2VlImageProcessor"}))
    vit = tmp_path / "vit"
    transformers.ViTConfig().save_pretrained(vit)
    cases: list[tuple[Path, dict[str, str], str]] = [
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
    for folder, settings, message in cases:
        assert_refused(partial(make_chat, f"hf/{folder}", settings), message)


def test_missing_weights_stop_the_run(tmp_path: Path, media: MediaFolder) -> None:
    subject = chat(_without(tiny_models.llava(tmp_path), "model.safetensors"))
    with pytest.raises(SnellenError, match="cannot be loaded"):
        ask(subject, media, Prompt(("Q",), ()))


def test_batches_fill_while_one_is_processed() -> None:
    """Batches have two similar jobs; a cancelled job is not done, and an error is raised for its own job."""
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

    for _ in range(2):  # a second event loop finds no state of the first
        done.clear()
        results = asyncio.run(together())
        assert done == [[1, 3], [2, 4], [7]]
        assert [results[n] for n in (0, 1, 2, 4)] == [10, 20, 30, 40]
        assert isinstance(results[3], asyncio.CancelledError)
        assert isinstance(results[5], ValueError)
