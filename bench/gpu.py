"""Heads and towers on a GPU, of full size with random weights: images, conversations and replies a second.

    python bench/gpu.py                                   SigLIP, DINOv2-L and CLIP-L before Qwen2-0.5B's shape
    python bench/gpu.py --towers clip-l --parts fit       one of them, one table
    python bench/gpu.py --device cpu --tiny               a trial of the script itself, whose numbers say nothing

Where there is no CUDA it says so in a line. Operations are counted on a device without memory (`costs`). A step is
timed from the end of the one before, so that reading images counts; the first two are left out.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import tokenizers
import torch
from PIL import Image

from snellen.core.item import Media
from snellen.core.storage.media import MediaFolder
from snellen.subjects.loading import quiet_transformers
from snellen.towers.heads.answering import generate
from snellen.towers.heads.composition import compose
from snellen.towers.heads.conversations import SYSTEM, Conversation, ConversationTurn, Wording
from snellen.towers.heads.costs import conversation_flops, language_config, tower_flops, training_memory
from snellen.towers.heads.features import TokenCache, TowerReader, opener
from snellen.towers.heads.files import Head
from snellen.towers.heads.language_models import LanguageModel, load_language_model
from snellen.towers.heads.stages import STAGES, TrainingStage
from snellen.towers.heads.tower_models import load_tower
from snellen.towers.heads.towers import find_tower
from snellen.towers.heads.training import HeadPlan, Training, train

TOWERS = ("siglip-1", "dinov2-l", "clip-l")
PARTS = ("towers", "fit", "pretrain", "tune", "answers")
STEPS = {"fit": 22, "pretrain": 4, "tune": 5}
VICUNA = "lmsys/vicuna-7b-v1.5"
QUESTION = "How many of the red cubes on the table stand behind the nearest of the cones? "
ANSWER = "there are three red cubes"
QWEN = "Qwen/Qwen2-0.5B"
SIDE = 8192
"""Of the matrices whose product is called the peak."""


@dataclass(frozen=True)
class Bench:
    """What is measured on what: a device, a language model, conversations about images of a folder."""

    device: str
    language: str
    media: MediaFolder
    talks: Sequence[Conversation]
    peak: float

    def head(self, tower: str, stage: TrainingStage) -> Head:
        """A head that has learned nothing."""
        spec, language = find_tower(tower), language_model(self.language, self.device)
        wording = Wording(language.tokenizer, language.image_id, spec.tokens, stage.template)
        return Head(compose(spec, language), wording)

    @property
    def dtype(self) -> torch.dtype:
        """Of activations, as training has them."""
        return torch.float32 if self.device == "cpu" else torch.bfloat16

    def finish(self) -> None:
        """Wait for the device."""
        if self.device != "cpu":
            torch.cuda.synchronize()

    def seconds(self, work: Callable[[], Any], rounds: int = 5) -> float:
        """The median of some rounds, after one that warms up."""
        work()
        times = []
        for _ in range(rounds):
            self.finish()
            begun = time.perf_counter()
            work()
            self.finish()
            times.append(time.perf_counter() - begun)
        return median(times)

    @contextmanager
    def memory(self) -> Iterator[Callable[[], float]]:
        """How much memory of the device was taken at most, in GB."""
        gc.collect()
        if self.device == "cpu":
            yield lambda: 0.0
            return
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        yield lambda: torch.cuda.max_memory_allocated() / 1e9


def peak_flops(device: str, side: int) -> float:
    """Operations a second of a large matrix product, in the type that training has there."""
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    left, right = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    rate = Bench(device, "", MediaFolder(Path()), (), 1.0).seconds(lambda: left @ right, 20)
    return 2 * side**3 / rate


def language_model(name: str, device: str) -> LanguageModel:
    """A random language model of the shape of Qwen2-0.5B or Vicuna-7B, a token a word; or as `load_language_model`."""
    if name not in (QWEN, VICUNA):
        return load_language_model(name)
    words = sorted(set(re.findall(r"\w+|[^\w\s]+", f"{SYSTEM} USER: {QUESTION} ASSISTANT: {ANSWER}")))
    vocabulary = {word: number for number, word in enumerate(["[UNK]", "[END]", *words])}
    tokenizer: Any = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    with quiet_transformers("bench") as transformers, torch.device(device):
        fast = transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, unk_token="[UNK]", eos_token="[END]", pad_token="[END]"
        )
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(language_config(name))
    return LanguageModel(model, fast, model.config.vocab_size - 1)


def conversations(media: MediaFolder, images: int, count: int) -> list[Conversation]:
    """Questions of some 90 tokens about images of 640 x 480, no two images alike."""
    rng = np.random.default_rng(0)
    kept: list[Media] = []
    for _ in range(images):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        kept.append(media.add_image(coarse.resize((640, 480), Image.Resampling.BICUBIC)))
    return [Conversation(str(n), (ConversationTurn((kept[n % images], QUESTION * 3), ANSWER),)) for n in range(count)]


def print_towers(bench: Bench, tower: str, dtype: torch.dtype, batches: Sequence[int]) -> None:
    """Images a second through a tower, from pixels on the device and from files."""
    reader = TowerReader(tower, opener(bench.media), bench.device, dtype)
    images = [image for talk in bench.talks[: max(batches)] for image in talk.images]
    flops = tower_flops(find_tower(tower))
    for batch in batches:
        chunk = images[:batch]
        fixed = replace_pixels(reader, reader.pixels(chunk).to(bench.device))
        with bench.memory() as memory:
            whole = bench.seconds(partial(fixed, chunk))
            room = memory()
        files = bench.seconds(partial(reader.tokens, chunk), 3)
        rates = f"{batch / whole:,.0f} | {flops * batch / whole / bench.peak:.2f} | {batch / files:,.0f}"
        print(f"| {tower} | {str(dtype)[6:]} | {batch} | {rates} | {room:.1f} |", flush=True)


def replace_pixels(reader: TowerReader, pixels: torch.Tensor) -> Callable[[Sequence[Any]], torch.Tensor]:
    """The reader's tokens, of pixels that are there already."""

    class Ready(TowerReader):
        def pixels(self, images: Sequence[Any]) -> torch.Tensor:
            return pixels

    return Ready(reader.tower, reader.open_image, reader.device, reader.dtype).tokens


@dataclass(frozen=True)
class Job:
    """A stage to be timed."""

    stage: str
    source: str
    compiled: bool = False
    micro_batch: int = 16
    batch: int = 0
    recompute: bool = False
    offload: bool = False

    @property
    def words(self) -> str:
        """What is special."""
        chosen = [name for name in ("compiled", "recompute", "offload") if getattr(self, name)]
        return ", ".join([self.source, *chosen])


def print_training(bench: Bench, tower: str, job: Job, steps: int) -> None:
    """Conversations a second of a stage."""
    name, source = job.stage, job.source
    stage = replace(STAGES[name], epochs=steps)
    if job.batch:
        stage = replace(stage, accumulation=job.batch * stage.accumulation // stage.batch)
    reader = TowerReader(tower, opener(bench.media), bench.device, bench.dtype)
    cache = TokenCache(reader)
    if source == "cached":
        cache.prepare([image for talk in bench.talks for image in talk.images])
    plan = HeadPlan(
        tower, bench.language, stage, device=bench.device, micro_batch=job.micro_batch, source=job.source,
        compiled=job.compiled, recompute=job.recompute, offload=job.offload, interval=10**9,
    )  # fmt: skip
    head = bench.head(tower, stage)
    talks, times = bench.talks[: stage.batch], list[float]()
    load_tower(tower, bench.device)
    with bench.memory() as memory:
        training = Training(
            model=head.model.to(bench.dtype),
            plan=plan,
            conversations=talks,
            wording=head.wording,
            read=cache.read if source == "cached" else reader.pixels,
            folder=Path("bench"),
            fingerprint="",
            dtype=bench.dtype,
            tick=lambda: times.append(time.perf_counter()),
        )
        losses = train(training).losses
        room = memory()
    rate = stage.batch / median(np.diff(times[1:]))
    row = head.wording.tokens(talks[0])
    words = len(row.ids) - find_tower(tower).tokens - row.targets
    flops = conversation_flops(find_tower(tower), bench.language, STAGES[name], words, row.targets)[0]
    planned = training_memory(plan, words, row.targets)
    main = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    flops += tower_flops(find_tower(tower)) if source == "live" else 0
    print(
        f"| {name} | {job.words} | {tower} | {job.micro_batch} | "
        f"{rate:,.1f} | {flops * rate / 1e12:,.0f} | "
        f"{flops * rate / bench.peak:.2f} | {room:.1f} | {planned.device / 1e9:.1f} | {main:.1f} | "
        f"{planned.main / 1e9:.1f} | {losses[0]:.4f}, {losses[-1]:.4f} |",
        flush=True,
    )


JOBS = [
    Job("fit", "cached"),
    Job("fit", "live"),
    Job("pretrain", "live"),
    Job("tune", "live"),
    Job("fit", "cached", compiled=True),
    Job("pretrain", "live", compiled=True),
    Job("tune", "live", compiled=True),
]


SAVING = [
    Job("fit", "live", recompute=True, micro_batch=8),
    Job("fit", "live", recompute=True, offload=True, micro_batch=8),
    Job("tune", "live", recompute=True, offload=True, micro_batch=8),
]
"""Jobs that save memory, for a language model of 7B."""


def print_answers(bench: Bench, tower: str, batches: Sequence[int], length: int) -> None:
    """Replies a second of a head, as `head:` gives them."""
    head = bench.head(tower, STAGES["fit"])
    head.model.to(bench.device)
    head.model.generation_config.eos_token_id = None  # random words never end: all replies have the full length
    for batch in batches:
        asked = [(replace(talk, turns=(replace(talk.turns[0], reply=None),)), bench.media) for talk in bench.talks]
        seconds = bench.seconds(partial(generate, head, asked[:batch], bench.device, length), 2)
        print(f"| {tower} | {batch} | {length} | {batch / seconds:,.1f} |", flush=True)


def run(bench: Bench, towers: Sequence[str], parts: Sequence[str], tiny: bool, jobs: Sequence[Job], steps: int) -> None:
    """Print the tables asked for."""
    batches = (2,) if tiny else (1, 8, 32)
    if "towers" in parts:
        print("\n| tower | products | at a time | images/s on the device | of the peak | from files | GB |")
        print("|---|---|---|---|---|---|---|")
        for tower in towers:
            for dtype in dict.fromkeys((bench.dtype, torch.float32)):
                print_towers(bench, tower, dtype, batches)
    if chosen := [job for job in jobs if job.stage in parts and not (tiny and job.compiled)]:
        print(
            "\n| stage | tokens | tower | at a time | samples/s | TFLOP/s | of the peak | GB | planned "
            "| GB in main memory | planned | first, last loss |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|---|---|")
        for job in chosen:
            for tower in towers[:1] if job.compiled else towers:
                print_training(bench, tower, job, steps or (3 if tiny else STEPS[job.stage]))
    if "answers" in parts:
        print("\n| tower | questions at a time | tokens a reply | replies/s |\n|---|---|---|---|")
        for tower in towers:
            print_answers(bench, tower, batches, 4 if tiny else 16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--towers", default=",".join(TOWERS))
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--language", default=QWEN, choices=(QWEN, VICUNA))
    parser.add_argument("--memory", action="store_true", help="only the jobs that save memory")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--micro-batch", type=int, default=0, help="conversations at a time")
    parser.add_argument("--batch", type=int, default=0, help="conversations per step, a multiple of 32")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    if options.device != "cpu" and not torch.cuda.is_available():
        print("no CUDA here: nothing is measured")
        return
    tiny = options.tiny
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SNELLEN_HOME"] = f"{folder}/home"
        peak = peak_flops(options.device, 256 if tiny else SIDE)
        name = "cpu" if options.device == "cpu" else torch.cuda.get_device_name(options.device)
        print(f"{name}, torch {torch.__version__}: {peak / 1e12:,.0f} TFLOP/s of a matrix product, called the peak")
        language = "random-qwen2" if tiny else options.language
        media = MediaFolder(Path(folder) / "media")
        talks = conversations(media, 4 if tiny else 64, 256)
        bench = Bench(options.device, language, media, talks, peak)
        written = [f"tiny/{tower}" if tiny else f"{tower}?seed=0" for tower in options.towers.split(",")]
        jobs = SAVING if options.memory else JOBS
        given = {"micro_batch": options.micro_batch, "batch": options.batch}
        jobs = [replace(job, **{name: value for name, value in given.items() if value}) for job in jobs]
        run(bench, written, options.parts.split(","), tiny, jobs, options.steps)


if __name__ == "__main__":
    main()
