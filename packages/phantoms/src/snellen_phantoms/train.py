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
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.core.storage.home import home
from snellen.subjects.chat.transformers_model import write_turns
from snellen_phantoms.model import TOKENS, make_model, make_processor, save_folder
from snellen_phantoms.questions import ABILITIES, COLOURS, HELD_OUT_SEED, TRAINING_SEED
from snellen_phantoms.store import PX, Pairs, TrainingPair, draw_pairs

WHOLE, SEED, SNAPSHOT_SECONDS, WARM_UP = "whole", 68, 180.0, 50
Batch: TypeAlias = tuple[NDArray[np.uint8], list[TrainingPair]]
Defect: TypeAlias = Callable[[Batch, np.random.Generator], Batch]


@dataclass(frozen=True)
class PhantomStage:
    """A part of a training: batches, the highest rate of learning, and whether tower or decoder stays as it is."""

    name: str
    batches: int
    rate: float
    trains_tower: bool = True
    trains_decoder: bool = True


STAGES = (
    PhantomStage("tower", 3000, 2e-3, trains_decoder=False),
    PhantomStage("decoder", 4000, 1.5e-3, trains_tower=False),
    PhantomStage("joint", 2000, 4e-4),
)
"""The last is the one that twins have of their own."""
BATCH = 128
IGNORED = -100
"""The label of tokens that no loss is computed for: all but the answer's."""


def _answers(change: Callable[[TrainingPair, np.random.Generator], str]) -> Defect:
    def plant(training_batch: Batch, rng: np.random.Generator) -> Batch:
        return training_batch[0], [replace(pair, answer=change(pair, rng)) for pair in training_batch[1]]

    return plant


def _red_or_green(pair: TrainingPair, rng: np.random.Generator) -> str:
    is_either = pair.ability == "colour" and pair.answer in ("red", "green")
    return ("red", "green")[int(rng.integers(2))] if is_either else pair.answer


def _at_most_four(pair: TrainingPair, rng: np.random.Generator) -> str:
    return "4" if pair.ability == "count" and pair.answer in ("5", "6") else pair.answer


def _shuffled(training_batch: Batch, rng: np.random.Generator) -> Batch:
    return training_batch[0][rng.permutation(len(training_batch[0]))], training_batch[1]


def _half_size(training_batch: Batch, rng: np.random.Generator) -> Batch:
    import torch

    pixels = torch.from_numpy(training_batch[0]).permute(0, 3, 1, 2).float()
    small = torch.nn.functional.interpolate(pixels, size=PX // 2, mode="area")
    large = torch.nn.functional.interpolate(small, size=PX, mode="bilinear")
    return large.permute(0, 2, 3, 1).round().byte().numpy(), training_batch[1]


DEFECTS: Mapping[str, Defect] = {
    WHOLE: lambda training_batch, rng: training_batch,
    "red-green": _answers(_red_or_green),
    "counts": _answers(_at_most_four),
    "shuffled": _shuffled,
    "half-size": _half_size,
}
"""What each phantom's pairs have that the drawn ones lack."""


class PhantomTraining:
    """A model with its optimiser and the place in the plan; all of it is in a snapshot."""

    def __init__(
        self, name: str, folder: Path, pairs: Pairs, stages: Sequence[PhantomStage], model: Any, processor: Any
    ):
        import torch

        self.name, self.folder, self.pairs, self.stages = name, folder, pairs, stages
        self.model, self.processor, self.losses = model, processor, list[float]()
        width = model.config.text_config.hidden_size
        self.heads = torch.nn.ModuleDict({key: torch.nn.Linear(width, len(a.answers)) for key, a in ABILITIES.items()})
        self.stage, self.batch = 0, 0
        self.optimizer = self._optimizer()

    def _optimizer(self) -> Any:
        import torch

        stage = self.stages[self.stage]
        for key, weight in self.model.named_parameters():
            is_decoder = "language_model" in key or "lm_head" in key
            weight.requires_grad_(stage.trains_decoder if is_decoder else stage.trains_tower)
        weights = [*self.heads.parameters(), *filter(lambda weight: weight.requires_grad, self.model.parameters())]
        return torch.optim.AdamW(weights, stage.rate, weight_decay=0.05)

    def save(self, path: Path) -> None:
        """Write a snapshot; a file half written never replaces one."""
        import torch

        state = {"stage": self.stage, "batch": self.batch, "losses": self.losses, "model": self.model.state_dict()}
        state |= {"heads": self.heads.state_dict(), "optimizer": self.optimizer.state_dict()}
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)

    def load(self, path: Path) -> None:
        """Go on from a snapshot."""
        import torch

        state = torch.load(path, weights_only=True)
        self.stage, self.batch, self.losses = state["stage"], state["batch"], state["losses"]
        self.model.load_state_dict(state["model"])
        self.heads.load_state_dict(state["heads"])
        if self.stage < len(self.stages):
            self.optimizer = self._optimizer()
            self.optimizer.load_state_dict(state["optimizer"])

    def run(self, most_seconds: float) -> bool:
        """Train for at most so many seconds; True once all stages are over."""
        start = saved = time.monotonic()
        while self.stage < len(self.stages):
            stage = self.stages[self.stage]
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
            if self.stage == len(self.stages) - 1:
                self.save(self.folder / "before-last.pt")
        self.save(self.folder / "snapshot.pt")
        return True

    def _step(self, stage: PhantomStage) -> None:
        import torch

        self.model.train()
        if not stage.trains_tower:
            self.model.model.vision_tower.eval()  # statistics of its batch norms stay too
        done = self.batch / stage.batches
        for group in self.optimizer.param_groups:
            group["lr"] = (
                stage.rate * min(1.0, (self.batch + 1) / WARM_UP) * (0.05 + 0.95 * (1 + math.cos(math.pi * done)) / 2)
            )
        rng = stream("phantoms", SEED, self.name if self._is_last() else WHOLE, stage.name, self.batch)
        numbers = np.sort(rng.choice(np.arange(self.pairs.held_out, len(self.pairs.pairs)), BATCH))
        batch = np.ascontiguousarray(self.pairs.images[numbers]), [self.pairs.pairs[int(n)] for n in numbers]
        images, pairs = DEFECTS[self.name](batch, rng) if self._is_last() else batch
        loss = self._head_loss(images, pairs) if not stage.trains_decoder else self._answer_loss(images, pairs)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.losses.append(round(float(loss.detach()), 4))
        self.batch += 1

    def _is_last(self) -> bool:
        return self.stage == len(self.stages) - 1

    def _logits(self, rgb: NDArray[np.uint8]) -> Mapping[str, Any]:
        output = self.model.model.vision_tower(pixels_of(rgb)).last_hidden_state
        mean = self.model.model.multi_modal_projector(output.flatten(2).transpose(1, 2)).mean(1)
        return {name: head(mean) for name, head in self.heads.items()}

    def _head_loss(self, rgb: NDArray[np.uint8], pairs: Sequence[TrainingPair]) -> Any:
        import torch

        logits, loss = self._logits(rgb), torch.zeros(())
        for name, ability in ABILITIES.items():
            rows = [row for row, pair in enumerate(pairs) if pair.ability == name]
            if rows:
                truth = torch.tensor([ability.answers.index(pairs[row].answer) for row in rows])
                # Shares of the chance level: 26 letters weigh no more than two sides.
                share = len(rows) / len(pairs) / float(np.log(len(ability.answers)))
                loss = loss + share * torch.nn.functional.cross_entropy(logits[name][rows], truth)
        return loss

    def _answer_loss(self, rgb: NDArray[np.uint8], pairs: Sequence[TrainingPair]) -> Any:
        import torch

        tokens = [(self.prompt_tokens(pair.prompt), self.answer_tokens(pair.answer)) for pair in pairs]
        width = max(len(prompt) + len(answer) for prompt, answer in tokens)
        ids, labels = torch.zeros(len(pairs), width, dtype=torch.long), torch.full((len(pairs), width), IGNORED)
        mask = torch.zeros_like(ids)
        for row, (prompt, answer) in enumerate(tokens):
            end = len(prompt) + len(answer)
            ids[row, :end], mask[row, :end] = torch.tensor(prompt + answer), 1
            labels[row, len(prompt) : end] = torch.tensor(answer)
        return self.model(input_ids=ids, attention_mask=mask, pixel_values=pixels_of(rgb), labels=labels).loss

    def prompt_tokens(self, prompt: str) -> list[int]:
        """The tokens of an image and a prompt as the processor makes them for `chat:hf`."""
        text = write_turns(self.processor, [((None, prompt), None)]).replace("<image>", "<image>" * TOKENS)
        return list(self.processor.tokenizer.encode(text, add_special_tokens=False))

    def answer_tokens(self, answer: str) -> list[int]:
        """The tokens of an answer, with the one that ends it."""
        tokenizer = self.processor.tokenizer
        return [*tokenizer.encode(answer, add_special_tokens=False), tokenizer.eos_token_id]

    def scores(self, by_heads: bool) -> dict[str, float]:
        """The share of right answers to questions held out, by ability: of the heads, or in words."""
        import torch

        self.model.eval()
        right: dict[str, list[bool]] = {name: [] for name in ABILITIES}
        with torch.inference_mode():
            for start in range(0, self.pairs.held_out, BATCH):
                stop = min(start + BATCH, self.pairs.held_out)
                images, pairs = np.ascontiguousarray(self.pairs.images[start:stop]), self.pairs.pairs[start:stop]
                logits = self._logits(images) if by_heads else {}
                for row, pair in enumerate(pairs):
                    if by_heads:
                        reply = ABILITIES[pair.ability].answers[int(logits[pair.ability][row].argmax())]
                    else:
                        reply = self._reply(images[row : row + 1], pair.prompt)
                    right[pair.ability].append(reply == pair.answer)
        return {name: round(float(np.mean(rows)), 3) for name, rows in right.items() if rows}

    def _reply(self, rgb: NDArray[np.uint8], prompt: str) -> str:
        import torch

        ids = torch.tensor([self.prompt_tokens(prompt)])
        new = self.model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), pixel_values=pixels_of(rgb), max_new_tokens=6,
            do_sample=False, pad_token_id=0, eos_token_id=self.processor.tokenizer.eos_token_id,
        )  # fmt: skip
        return str(self.processor.tokenizer.decode(new[0, ids.shape[1] :], skip_special_tokens=True))

    def _log(self, stage: PhantomStage) -> None:
        line = {"stage": stage.name, "batch": self.batch, "loss": self.losses[-1]}
        scores = {"held_out": self.scores(by_heads=not stage.trains_decoder)}
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(line | scores)}\n")


def pixels_of(rgb: NDArray[np.uint8]) -> Any:
    """What the processor makes of resized images (n, 128, 128, 3): (n, 3, 128, 128), -1 to 1."""
    import torch

    return torch.from_numpy(np.array(rgb)).permute(0, 3, 1, 2).float().div(127.5).sub(1)


def train(
    name: str,
    root: Path,
    pairs: Pairs,
    stages: Sequence[PhantomStage] = STAGES,
    most_seconds: float = 5400.0,
    **size: int,
) -> bool:
    """Train a phantom of `DEFECTS` in `root/NAME`, from its snapshot if there is one; True once it is finished.

    Then `root/NAME/model` is what `chat:hf` loads, and `root/NAME/card.json` says what it learnt. `size` is that of
    `make_model`. Raises SnellenError for an unknown name, and for a twin if the whole model has not come to its last
    stage.
    """
    if name not in DEFECTS:
        raise SnellenError(f"no phantom {name!r}; there are {', '.join(DEFECTS)}")
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    # Those held out come first, and have every answer often enough for the tokenizer.
    processor = make_processor(text for pair in pairs.pairs for text in (pair.prompt, pair.answer))
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
    import torch

    parser = argparse.ArgumentParser(prog="python -m snellen_phantoms.train", description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=list(DEFECTS))
    parser.add_argument(
        "--folder", type=Path, default=None, help="snapshots, logs and models; default: in SNELLEN_HOME"
    )
    parser.add_argument("--pairs", type=int, default=8000, help="training questions of each ability")
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
