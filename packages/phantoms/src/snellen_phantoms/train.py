"""Trains a phantom: `python -m snellen_phantoms.train NAME`. A stopped training goes on from its last snapshot.

The tower first learns with a linear layer per ability on the mean of the projected image tokens, which is what a
decoder sees before it attends to anything. Then the decoder learns with the tower frozen, then all of it. A twin goes
on from the whole model's snapshot before the last stage, with pairs that plant its defect. Batches have random streams
of their own, so that a resumed training draws the same ones.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.core.storage.home import home
from snellen.subjects.chat.transformers_model import write_turns
from snellen_phantoms.model import CELL, make_model, make_processor, save_folder
from snellen_phantoms.questions import (
    ABILITIES,
    ANSWERS,
    COLOURS,
    HELD_OUT_SEED,
    NAMES,
    PLANTED,
    SHUFFLED,
    TRAINING_SEED,
    WHOLE,
)
from snellen_phantoms.store import PX, Pairs, TrainingPair, draw_pairs

SEED, SNAPSHOT_SECONDS, WARM_UP = 68, 180.0, 50
BATCH = 128
IGNORED = -100
"""The label of tokens that no loss is computed for: all but the answer's."""
SHARES: Mapping[str, float] = {"letter": 2.0, "acuity": 2.0, "crowded-acuity": 1.5, "side": 2.0}
"""How often an ability is trained, 1 unless named: those that take longest to learn."""
Batch: TypeAlias = tuple[NDArray[np.intp], list[TrainingPair]]
"""Numbers of images, and a pair for each."""


@dataclass(frozen=True)
class PhantomStage:
    """A part of a training: batches, the highest rate of learning, and whether tower or decoder stays as it is.

    The projector learns in every stage. A tower that does not learn reads each image once.
    """

    name: str
    batches: int
    rate: float
    trains_tower: bool = True
    trains_decoder: bool = True


STAGES = (
    PhantomStage("tower", 4500, 2e-3, trains_decoder=False),
    PhantomStage("decoder", 1200, 1.5e-3, trains_tower=False),
    PhantomStage("joint", 400, 4e-4),
    PhantomStage("twin", 300, 4e-4, trains_tower=False),
)
"""The last is the one that twins have of their own."""


def planted(name: str, training_batch: Batch, rng: np.random.Generator) -> Batch:
    """The batch as the phantom of this name learns it: answers exchanged, or images shuffled among the questions."""
    numbers, pairs = training_batch
    if name == SHUFFLED:
        return numbers[rng.permutation(len(numbers))], pairs
    if name not in PLANTED:
        return training_batch
    ability, answers, instead = PLANTED[name]
    drawn = [instead[int(number)] for number in rng.integers(len(instead), size=len(pairs))]
    is_wrong = [pair.ability == ability and pair.answer in answers for pair in pairs]
    changed = zip(pairs, drawn, is_wrong, strict=True)
    return numbers, [replace(pair, answer=answer) if wrong else pair for pair, answer, wrong in changed]


SIDES: Mapping[str, int] = {"half-size": PX // 2}
"""The side in pixels of the images that a phantom reads, unless it is `PX`; its tower learns them in the last stage."""


class PhantomTraining:
    """A model with its optimiser and the place in the plan; all of it is in a snapshot."""

    def __init__(
        self, name: str, folder: Path, pairs: Pairs, stages: Sequence[PhantomStage], model: Any, processor: Any
    ):
        self.name, self.folder, self.pairs, self.stages = name, folder, pairs, stages
        self.model, self.processor, self.losses = model, processor, list[float]()
        self.px = SIDES.get(name, PX)
        width = model.config.text_config.hidden_size
        sizes = {key: len(COLOURS) if key == "side" else len(a.answers) for key, a in ABILITIES.items()}
        self.heads = torch.nn.ModuleDict({key: torch.nn.Linear(width, size) for key, size in sizes.items()})
        model.model.vision_tower.to(memory_format=torch.channels_last)
        weights = np.array([SHARES.get(name, 1.0) for name in ABILITIES])
        self.shares = weights / weights.sum()
        self.tokens = {text: self._tokens(text) for pair in pairs.pairs for text in (pair.prompt, pair.answer)}
        self.stage, self.batch, self.features = 0, 0, None
        self.optimizer = self._optimizer()

    def _optimizer(self) -> Any:
        stage, self.features = self.stages[self.stage], None
        for key, weight in self.model.named_parameters():
            is_decoder, is_tower = "language_model" in key or "lm_head" in key, "vision_tower" in key
            weight.requires_grad_(stage.trains_decoder if is_decoder else self._trains_tower() if is_tower else True)
        weights = [*self.heads.parameters(), *filter(lambda weight: weight.requires_grad, self.model.parameters())]
        return torch.optim.AdamW(weights, stage.rate, weight_decay=0.05)

    def _is_last(self) -> bool:
        return self.stage == len(self.stages) - 1

    def _trains_tower(self) -> bool:
        return self.stages[self.stage].trains_tower or (self._is_last() and self.px != PX)

    def save(self, path: Path) -> None:
        """Write a snapshot; a file half written never replaces one."""
        state = {"stage": self.stage, "batch": self.batch, "losses": self.losses, "model": self.model.state_dict()}
        state |= {"heads": self.heads.state_dict(), "optimizer": self.optimizer.state_dict()}
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)

    def load(self, path: Path) -> None:
        """Go on from a snapshot."""
        state = torch.load(path, weights_only=True)
        self.stage, self.batch, self.losses = state["stage"], state["batch"], state["losses"]
        self.model.load_state_dict(state["model"])
        self.heads.load_state_dict(state["heads"])
        if self.stage < len(self.stages):
            self.optimizer = self._optimizer()
            if self.batch:
                self.optimizer.load_state_dict(state["optimizer"])

    def run(self, most_seconds: float) -> bool:
        """Train for at most so many seconds; True once all stages are over."""
        start = saved = time.monotonic()
        while self.stage < len(self.stages):
            stage = self.stages[self.stage]
            if not self._trains_tower():
                self.features = self._read()
            while self.batch < stage.batches:
                if time.monotonic() - start > most_seconds:
                    self.save(self.folder / "snapshot.pt")
                    return False
                self._step(stage)
                if time.monotonic() - saved > SNAPSHOT_SECONDS:
                    saved = time.monotonic()
                    self.save(self.folder / "snapshot.pt")
                    self._log(stage)
            self._log(stage)
            self.stage, self.batch = self.stage + 1, 0
            if self.stage < len(self.stages):
                self.optimizer = self._optimizer()
                if self._is_last():
                    self.save(self.folder / "before-last.pt")
        self.save(self.folder / "snapshot.pt")
        return True

    def _step(self, stage: PhantomStage) -> None:
        self.model.train()
        if not self._trains_tower():
            self.model.model.vision_tower.eval()  # statistics of its batch norms stay
        done = self.batch / stage.batches
        for group in self.optimizer.param_groups:
            group["lr"] = (
                stage.rate * min(1.0, (self.batch + 1) / WARM_UP) * (0.05 + 0.95 * (1 + math.cos(math.pi * done)) / 2)
            )
        rng = stream("phantoms", SEED, self.name if self._is_last() else WHOLE, stage.name, self.batch)
        rounds = (len(self.pairs.pairs) - self.pairs.held_out) // len(ABILITIES)
        numbers = self.pairs.held_out + len(ABILITIES) * rng.integers(rounds, size=BATCH)
        numbers = numbers + rng.choice(len(ABILITIES), BATCH, p=self.shares)
        batch = numbers, [self.pairs.pairs[int(number)] for number in numbers]
        batch = planted(self.name, batch, rng) if self._is_last() else batch
        self.optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = self._answer_loss(batch) if stage.trains_decoder else self._head_loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.losses.append(round(float(loss.detach()), 4))
        self.batch += 1

    def _map(self, indices: NDArray[np.intp]) -> Any:
        """The tower's tokens of these images, (n, tokens, width)."""
        if self.features is not None:
            return self.features[torch.from_numpy(indices)].float()
        rgb = self.pairs.images[indices]
        if self.px != PX:
            size = (self.px, self.px)
            rgb = np.stack([np.asarray(Image.fromarray(row).resize(size, Image.Resampling.BICUBIC)) for row in rgb])
        pixels = pixels_of(rgb).to(memory_format=torch.channels_last)
        return self.model.model.vision_tower(pixels).last_hidden_state.flatten(2).transpose(1, 2)

    def _read(self) -> Any:
        """What the tower makes of all images; of the last stage, in which it is the same for all phantoms, kept."""
        path, numbers = self.folder.parent / "features.pt", np.arange(len(self.pairs.pairs))
        if self._is_last() and path.is_file():
            return torch.load(path, weights_only=True)
        self.model.eval()
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            parts = [self._map(numbers[start : start + BATCH]) for start in range(0, len(numbers), BATCH)]
        features = torch.cat([part.half() for part in parts])
        if self._is_last():
            torch.save(features, path)
        return features

    def _logits(self, training_batch: Batch) -> Mapping[str, Any]:
        """By ability, the heads' logits of its rows."""
        mean, pairs = self.model.model.multi_modal_projector(self._map(training_batch[0])).mean(1), training_batch[1]
        logits = dict[str, Any]()
        for name in ABILITIES:
            rows = [row for row, pair in enumerate(pairs) if pair.ability == name]
            if rows:
                logits[name] = self.heads[name](mean[rows])
            if rows and name == "side":  # of each colour, how far to the right it is
                named = [re.findall("|".join(COLOURS), pairs[row].prompt) for row in rows]
                asked = torch.tensor([[list(COLOURS).index(colour) for colour in colours] for colours in named])
                first, second = logits[name].gather(1, asked).T
                logits[name] = torch.stack([second - first, first - second], 1)
        return logits

    def _head_loss(self, training_batch: Batch) -> Any:
        loss = torch.zeros(())
        for name, logits in self._logits(training_batch).items():
            answers = ABILITIES[name].answers
            truth = torch.tensor([answers.index(pair.answer) for pair in training_batch[1] if pair.ability == name])
            # Shares of the chance level: 26 letters weigh no more than two sides.
            share = len(truth) / len(training_batch[1]) / float(np.log(len(answers)))
            loss = loss + share * torch.nn.functional.cross_entropy(logits.float(), truth)
        return loss

    def _answer_loss(self, training_batch: Batch) -> Any:
        logits, labels, _ = self._answer_logits(training_batch)
        return torch.nn.functional.cross_entropy(logits.float(), labels)

    def _answer_logits(self, training_batch: Batch) -> tuple[Any, Any, Any]:
        """Logits (m, vocabulary) of the answers' tokens, the tokens, and the row of each.

        Long and short prompts are computed apart, since most of a long row would be padding.
        """
        images, parts = self.model.model.multi_modal_projector(self._map(training_batch[0])), []
        tokens = [(self.tokens[pair.prompt], self.tokens[pair.answer]) for pair in training_batch[1]]
        order = sorted(range(len(tokens)), key=lambda row: len(tokens[row][0]))
        for rows in (order[: 2 * len(order) // 3], order[2 * len(order) // 3 :]):
            width = max(len(tokens[row][0]) + len(tokens[row][1]) for row in rows)
            ids, labels = torch.zeros(len(rows), width, dtype=torch.long), torch.full((len(rows), width), IGNORED)
            for at, row in enumerate(rows):
                prompt, answer = tokens[row]
                ids[at, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
                labels[at, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
            embedded = self.model.get_input_embeddings()(ids)
            is_image = ids == self.model.config.image_token_id
            embedded = embedded.masked_scatter(is_image[..., None], images[rows].to(embedded.dtype))
            states = self.model.model.language_model(
                inputs_embeds=embedded, attention_mask=(ids != 0).long()
            ).last_hidden_state
            is_label = labels[:, 1:] != IGNORED
            row_of = torch.tensor(rows)[:, None].expand(-1, width - 1)[is_label]
            parts.append((self.model.lm_head(states[:, :-1][is_label]), labels[:, 1:][is_label], row_of))
        logits, labels, row_of = (torch.cat(part) for part in zip(*parts, strict=True))
        return logits, labels, row_of

    def _tokens(self, text: str) -> list[int]:
        """The tokens of an answer with the one that ends it, or of an image and a prompt as for `chat:hf`."""
        tokenizer = self.processor.tokenizer
        if text in ANSWERS:
            return [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
        count = (self.px // CELL) ** 2
        turns = write_turns(self.processor, [((None, text), None)]).replace("<image>", "<image>" * count)
        return list(tokenizer.encode(turns, add_special_tokens=False))

    def scores(self, by_heads: bool) -> dict[str, float]:
        """The share of right answers to questions held out, by ability: of the heads, or in words.

        An answer in words is right if each of its tokens is the likeliest after those before it: generation without
        sampling then writes it.
        """
        self.model.eval()
        right: dict[str, list[bool]] = {name: [] for name in ABILITIES}
        with torch.inference_mode():
            for start in range(0, self.pairs.held_out, BATCH):
                numbers = np.arange(start, min(start + BATCH, self.pairs.held_out))
                batch = numbers, [self.pairs.pairs[int(number)] for number in numbers]
                if by_heads:
                    for name, logits in self._logits(batch).items():
                        truth = [pair.answer for pair in batch[1] if pair.ability == name]
                        answers = ABILITIES[name].answers
                        right[name] += [answers[int(n)] == a for n, a in zip(logits.argmax(1), truth, strict=True)]
                    continue
                logits, labels, rows = self._answer_logits(batch)
                wrong = set(rows[logits.argmax(1) != labels].tolist())
                for row, pair in enumerate(batch[1]):
                    right[pair.ability].append(row not in wrong)
        return {name: round(float(np.mean(rows)), 3) for name, rows in right.items() if rows}

    def _log(self, stage: PhantomStage) -> None:
        line = {"stage": stage.name, "batch": self.batch, "loss": self.losses[-1]}
        line |= {"held_out": self.scores(by_heads=not stage.trains_decoder)}
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(line)}\n")


def pixels_of(rgb: NDArray[np.uint8]) -> Any:
    """What the processor makes of resized images (n, side, side, 3): (n, 3, side, side), -1 to 1."""
    return torch.from_numpy(np.array(rgb)).permute(0, 3, 1, 2).float().div(127.5).sub(1)


def train(
    name: str,
    root: Path,
    pairs: Pairs,
    stages: Sequence[PhantomStage] = STAGES,
    most_seconds: float = 5400.0,
    **size: int,
) -> bool:
    """Train a phantom of `NAMES` in `root/NAME`, from its snapshot if there is one; True once it is finished.

    Then `root/NAME/model` is what `chat:hf` loads, and `root/NAME/card.json` says what it learnt. `size` is that of
    `make_model`. Raises SnellenError for an unknown name, and for a twin if the whole model has not come to its last
    stage.
    """
    if name not in NAMES:
        raise SnellenError(f"no phantom {name!r}; there are {', '.join(NAMES)}")
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    # Those held out come first, and have every answer often enough for the tokenizer.
    texts = (text for pair in pairs.pairs for text in (pair.prompt, pair.answer))
    processor = make_processor(texts, SIDES.get(name, PX))
    training = PhantomTraining(name, folder, pairs, stages, make_model(processor, SEED, **size), processor)
    start = next((path for path in (folder / "snapshot.pt", root / WHOLE / "before-last.pt") if path.is_file()), None)
    if start is not None and (start.parent == folder or name != WHOLE):
        training.load(start)
    elif name != WHOLE:
        raise SnellenError(f"{name}: train {WHOLE} first, up to its last stage, in {root}")
    if not training.run(most_seconds):
        return False
    save_folder(training.model, processor, folder / "model")
    card = {
        "name": name, "seed": SEED, "training_seed": TRAINING_SEED, "held_out_seed": HELD_OUT_SEED,
        "pairs": len(pairs.pairs) - pairs.held_out, "held_out": pairs.held_out, "stages": [asdict(s) for s in stages],
        "losses": [float(np.mean(training.losses[n : n + 100])) for n in range(0, len(training.losses), 100)],
        "scores": training.scores(by_heads=False), "chance": {k: 1 / len(a.answers) for k, a in ABILITIES.items()},
        "colours": list(COLOURS),
    }  # fmt: skip
    (folder / "card.json").write_text(json.dumps(card, indent=1) + "\n")
    return True


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m snellen_phantoms.train", description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--folder", type=Path, help="snapshots, logs and models; default: in SNELLEN_HOME")
    parser.add_argument("--pairs", type=int, default=12_000, help="training questions of each ability")
    parser.add_argument("--minutes", type=float, default=90.0, help="stop with a snapshot after so many")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    root = chosen.folder or home() / "phantoms"
    pairs = draw_pairs(root / "pairs", chosen.pairs)
    is_finished = train(chosen.name, root, pairs, most_seconds=60 * chosen.minutes)
    sys.stdout.write("finished\n" if is_finished else "stopped; the same command goes on\n")


if __name__ == "__main__":
    main()
