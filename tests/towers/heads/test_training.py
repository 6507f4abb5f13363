"""Training follows the published formulas, and can be stopped and resumed without a difference."""

from __future__ import annotations

import errno
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.towers.heads.conversations import Conversation, ConversationTurn
from snellen.towers.heads.stages import EPOCHS, STAGES
from tests.helpers.extras import lazy_module, need
from tests.towers.heads.toys import FIT, Stopped, pixels, stopping, toy

need("peft", "heads")
torch = lazy_module("torch")
module = lazy_module("snellen.towers.heads.training")
batching = lazy_module("snellen.towers.heads.batches")
tensor_files = lazy_module("snellen.towers.heads.tensor_files")


def test_stages_have_the_settings_of_table_4() -> None:
    """The batch, rate and epochs of Table 4; the steps of LLaVA-558K and mix665k on the published four GPUs."""
    assert {name: (s.batch, s.rate, s.epochs, s.warmup) for name, s in STAGES.items()} == {
        "pretrain": (256, 1e-3, 1, 0.03),
        "tune": (128, 2e-5, 1, 0.03),
        "fit": (16, 1e-4, 10, 0.03),
    }
    assert EPOCHS == {"localization": 20}
    # ceil(558,128 / 64) = 8,721 micro-batches, four per step; ceil(665,298 / 16) = 41,582, eight per step.
    assert STAGES["pretrain"].steps(558_128) == 2180
    assert STAGES["tune"].steps(665_298) == 5197
    assert STAGES["fit"].steps(6000) == 3750
    assert STAGES["fit"].steps(5) == 10


def test_the_rate_rises_and_then_falls_as_a_cosine() -> None:
    stage = STAGES["fit"]  # of 100 steps 3 rise: 0, 1/3, 2/3; step 51.5 would be the middle of the cosine
    rates = [stage.rate_at(step, 100) / stage.rate for step in range(100)]
    assert rates[:4] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert (rates[51] + rates[52]) / 2 == pytest.approx(0.5, abs=1e-3)
    assert rates[99] == pytest.approx((1 + math.cos(math.pi * 96 / 97)) / 2)


def loss_of_all(training: Any, size: int) -> Any:
    """The loss of all conversations as one step, `size` at a time."""
    rows = [training.wording.tokens(conversation) for conversation in training.conversations]
    weights, losses = batching.token_weights(training.plan.stage, rows), []
    for indices in batching.micro_batches(rows, size):
        chunk = [rows[index] for index in indices], [weights[index] for index in indices]
        losses.append(
            module.AnswerLoss(training.model)(batching.collate(*chunk, training.wording.padding, training.read))
        )
    return torch.stack(losses).sum()


def test_loss_is_the_mean_of_the_token_means_of_groups(tmp_path: Path) -> None:
    """The published normalisation, computed from transformers' own loss of each micro-batch of four."""
    training = toy(tmp_path, count=14)  # groups of 4, 4, 4 and 2
    training.model.requires_grad_(False)
    rows = [training.wording.tokens(conversation) for conversation in training.conversations]
    means = []
    for start in range(0, 14, 4):
        group = rows[start : start + 4]
        batch = batching.collate(group, [1.0] * len(group), training.wording.padding, training.read)
        means.append(
            training.model(
                input_ids=batch.ids, attention_mask=batch.mask, pixel_values=batch.images, labels=batch.labels
            ).loss
        )
    published = torch.stack(means).mean()
    for size in (1, 3, 14):
        assert torch.allclose(loss_of_all(training, size), published, rtol=1e-6)
    by_token = replace(training, plan=replace(training.plan, stage=replace(FIT, group=14)))
    assert not torch.allclose(loss_of_all(by_token, 14), published, rtol=1e-4)


def test_steps_after_a_stop_are_those_that_were_left() -> None:
    stage = replace(STAGES["fit"], group=1, accumulation=1, epochs=3)
    conversations = [Conversation(f"c{number}", ()) for number in range(2 * stage.batch + 4)]
    steps = list(module.indices_by_step(stage, conversations, 0))
    assert [len(step) for step in steps] == 3 * [stage.batch, stage.batch, 4]
    for first in range(len(steps) + 1):
        assert list(module.indices_by_step(stage, conversations, first)) == steps[first:]


def test_weights_by_hand() -> None:
    """Groups of two with 2 + 1, 3 + 3 and 0 targets: 1 / (2 x 3), 1 / (2 x 6), and 0 without targets."""

    class Row:
        def __init__(self, targets: int) -> None:
            self.targets = targets

    rows: list[Any] = [Row(count) for count in (2, 1, 3, 3, 0)]
    assert batching.token_weights(replace(FIT, group=2), rows) == pytest.approx([1 / 6, 1 / 6, 1 / 12, 1 / 12, 0])


def test_only_answers_are_scored_and_gradients_are_those_of_all_logits(tmp_path: Path) -> None:
    training = toy(tmp_path, stage=replace(FIT, scope="language-model"), count=4)
    weights = module.prepare(training.model, training.plan.stage)
    rows = [training.wording.tokens(conversation) for conversation in training.conversations]
    batch = batching.collate(
        rows, batching.token_weights(training.plan.stage, rows), training.wording.padding, training.read
    )
    loss: Any = module.AnswerLoss(training.model)(batch)
    loss.backward()
    ours = {name: weight.grad.clone() for name, weight in weights.items() if weight.grad is not None}
    training.model.zero_grad()
    training.model(
        input_ids=batch.ids, attention_mask=batch.mask, pixel_values=batch.images, labels=batch.labels
    ).loss.backward()
    for name, gradient in ours.items():
        theirs = weights[name].grad
        assert theirs is not None
        assert torch.allclose(gradient, theirs, rtol=1e-4, atol=1e-7), name
    assert len(ours) == len(weights)
    scored: list[int] = []
    training.model.lm_head.register_forward_hook(lambda _, inputs, out: scored.append(len(out)))
    module.AnswerLoss(training.model)(batch)
    assert scored == [sum(row.targets for row in rows)]


def test_lora_is_on_all_linear_layers(tmp_path: Path) -> None:
    training = toy(tmp_path, stage=STAGES["fit"])
    weights = module.prepare(training.model, training.plan.stage)
    adapters = [name for name in weights if ".lora_" in name]
    assert len(adapters) == 2 * 7 * 2  # A and B on q, k, v, o, gate, up, down of two layers
    assert all(weights[name].shape[0 if ".lora_A" in name else 1] == 128 for name in adapters)
    layer = training.model.model.language_model.layers[0].self_attn.q_proj
    assert layer.scaling["default"] == 2.0  # alpha / rank
    assert len(weights) == len(adapters) + 4  # and the connector: two weights, two biases


def mixed(count: int) -> list[Conversation]:
    """Conversations of all lengths, every third without an image."""
    return [
        Conversation(
            str(n), (ConversationTurn(((Path("red.png"),) if n % 3 else ()) + ("word " * (n * 7 % 50),), "1"),)
        )
        for n in range(count)
    ]


def test_batches_have_one_modality_and_similar_lengths() -> None:
    stage, rows = replace(STAGES["tune"], group=1, accumulation=1), mixed(100)
    first, second = batching.order(stage, rows, 0), batching.order(stage, rows, 1)
    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second
    assert first == batching.order(stage, rows, 0)
    batches = [first[start : start + stage.batch] for start in range(0, 96, stage.batch)]
    pure = [batch for batch in batches if len({bool(rows[index].images) for index in batch}) == 1]
    assert len(pure) == 34 // 4 + 66 // 4  # 34 without an image, 66 with one; the remainder comes last
    spread = max(max(rows[i].words for i in batch) - min(rows[i].words for i in batch) for batch in pure)
    assert spread <= 12
    shuffled = batching.order(replace(stage, by_modality=False), rows, 0)
    assert sorted(shuffled) == list(range(100))
    assert shuffled != sorted(shuffled)


def final(training: Any) -> dict[str, Any]:
    """All weights after training."""
    module.train(training)
    return {name: weight.detach().clone() for name, weight in training.model.state_dict().items()}


def equal(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("scope", ["connector", "lora", "language-model"])
def test_a_stopped_training_resumes_bitwise(scope: Any, tmp_path: Path) -> None:
    stage = replace(FIT, scope=scope, epochs=3)  # 2 steps of at most 16 per epoch
    uninterrupted = final(toy(tmp_path / "whole", stage))
    parts = tmp_path / "parts"
    with pytest.raises(Stopped):
        module.train(toy(parts, stage, interval=2, tick=stopping(3)))
    # A kill loses everything after the last checkpoint.
    assert len(tensor_files.read_tensors(parts / module.CHECKPOINT)[0]["losses"]) == 2
    again = toy(parts, stage, interval=2)
    assert equal(final(again), uninterrupted)
    assert not equal(uninterrupted, final(toy(tmp_path / "other", replace(stage, seed=1))))


def test_the_time_before_a_stop_counts(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        module.train(toy(tmp_path, interval=1, tick=stopping(2)))
    tensors, facts = tensor_files.read_tensors(tmp_path / module.CHECKPOINT)
    tensor_files.write_tensors(tmp_path / module.CHECKPOINT, tensors, facts | {"seconds": 5000.0})
    again = toy(tmp_path)
    progress = module.train(again)
    assert progress.seconds > 5000 > facts["seconds"] > 0
    assert (len(progress.losses), progress.losses[:1]) == (again.steps, tensors["losses"].tolist())


def test_micro_batches_change_only_rounding(tmp_path: Path) -> None:
    stage = replace(FIT, lora_dropout=0.0)
    first, second = (final(toy(tmp_path / str(size), stage, micro_batch=size)) for size in (16, 3))
    assert all(torch.allclose(first[name], second[name], atol=2e-5) for name in first)


def test_training_learns_the_content_of_images(tmp_path: Path) -> None:
    stage = replace(FIT, scope="language-model", rate=3e-2, epochs=30)
    training = toy(tmp_path, stage, count=16)
    progress = module.train(training)
    assert progress.losses[-1] < 1 < 10 < progress.losses[0]  # the number of "indeed" cannot be predicted
    with torch.no_grad():
        scores = []
        for colour in ("red", "blue"):
            question = Conversation("", (ConversationTurn((Path(f"{colour}.png"), "Which colour?"), None),))
            batch = batching.collate([training.wording.tokens(question)], [1.0], 0, training.read)
            scores.append(training.model(input_ids=batch.ids, pixel_values=batch.images).logits[0, -1])
    tokenizer = training.wording.tokenizer
    assert [tokenizer.decode(int(score.argmax())) for score in scores] == ["red", "blue"]


def test_checkpoints_contain_trained_weights_and_no_pickle_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a pickle")

    with pytest.raises(Stopped):
        module.train(toy(tmp_path, interval=1, tick=stopping(2)))
    assert [path.name for path in tmp_path.iterdir()] == [module.CHECKPOINT]
    tensors, facts = tensor_files.read_tensors(tmp_path / module.CHECKPOINT)
    names = {name.partition("/")[2] for name in tensors if name != "losses"}
    assert all(".lora_" in name or "multi_modal_projector" in name for name in names)
    assert facts["fingerprint"] == "toy"
    for loader in (pickle, torch):
        monkeypatch.setattr(loader, "load", refuse)
    monkeypatch.setattr(pickle, "loads", refuse)
    module.train(toy(tmp_path))


def test_a_loss_that_is_not_finite_is_reported(tmp_path: Path) -> None:
    broken = toy(tmp_path, replace(FIT, rate=1e30), interval=1)
    with pytest.raises(
        module.Diverged, match=r"the loss is not finite at step \d of 4 \(rate 1e\+30\): unstable; use a lower"
    ):
        module.train(broken)


def test_an_error_about_full_memory_states_how_to_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uninterrupted = final(toy(tmp_path / "whole"))
    real, calls = module.AnswerLoss.forward, 0

    def full(model: Any, batch: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(model, batch)

    monkeypatch.setattr("snellen.towers.heads.training.AnswerLoss.forward", full)
    with pytest.raises(SnellenError, match=r"out of memory on cpu at step 2 of 4 with 16 .* --micro-batch 8 continues"):
        module.train(toy(tmp_path / "parts"))
    monkeypatch.setattr("snellen.towers.heads.training.AnswerLoss.forward", real)
    assert equal(final(toy(tmp_path / "parts")), uninterrupted)


def test_parts_prepared_ahead_keep_their_order_and_their_errors() -> None:
    begun: list[int] = []

    def maker(number: int) -> Callable[[], int]:
        def make() -> int:
            begun.append(number)
            if number == 3:
                raise SnellenError("an image that cannot be read")
            return number

        return make

    for count in (0, 2):
        begun.clear()
        with module.ahead_of(map(maker, range(6)), count) as results:
            assert [next(results) for _ in range(3)] == [0, 1, 2]
            with pytest.raises(SnellenError, match="cannot be read"):
                next(results)
        assert begun == list(range(len(begun)))
        assert len(begun) <= 4 + count


def test_a_full_disk_keeps_the_previous_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import safetensors.torch

    with pytest.raises(Stopped):
        module.train(toy(tmp_path, interval=1, tick=stopping(2)))
    before = (tmp_path / module.CHECKPOINT).read_bytes()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(safetensors.torch, "save_file", full)
        with pytest.raises(SnellenError, match=r"checkpoint.safetensors: cannot be written \(No space left"):
            module.train(toy(tmp_path, interval=1))
    assert (tmp_path / module.CHECKPOINT).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [module.CHECKPOINT]


def test_checkpoints_of_other_settings_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        module.train(toy(tmp_path, interval=1, tick=stopping(2)))
    with pytest.raises(SnellenError, match="started with other settings or examples"):
        module.train(toy(tmp_path, fingerprint="other"))
    (tmp_path / module.CHECKPOINT).write_bytes(b"torn")
    with pytest.raises(SnellenError, match="cannot be read"):
        module.train(toy(tmp_path))


def test_half_precision_trains_float32_weights(tmp_path: Path) -> None:
    training = toy(tmp_path, dtype=torch.bfloat16)
    training.model.to(torch.bfloat16)
    progress = module.train(training)
    assert all(math.isfinite(loss) for loss in progress.losses)
    dtypes = {name: weight.dtype for name, weight in training.model.named_parameters()}
    assert all(
        (dtype == torch.float32) == (".lora_" in name or "multi_modal" in name) for name, dtype in dtypes.items()
    )


@pytest.mark.parametrize(("dtype", "casts"), [("float32", True), ("bfloat16", False)])
def test_adapters_cast_activations_only_in_full_precision(dtype: str, casts: bool) -> None:
    adapter, layer = SimpleNamespace(lora_A=1, cast_input_dtype_enabled=True), SimpleNamespace()
    model = SimpleNamespace(modules=lambda: [adapter, layer])
    plan = module.HeadPlan("", "", STAGES["fit"])
    suit: Any = import_module("snellen.towers.heads.training")._suit_device
    suit(SimpleNamespace(dtype=getattr(torch, dtype), model=model, plan=plan))
    assert (adapter.cast_input_dtype_enabled, vars(layer)) == (casts, {})


def test_images_are_read_in_the_order_of_their_rows(tmp_path: Path) -> None:
    training = toy(tmp_path, count=3)
    rows = [training.wording.tokens(conversation) for conversation in training.conversations]
    batch = batching.collate(rows, [1.0] * 3, 0, training.read)
    assert batch.images is not None
    assert torch.equal(batch.images[1], pixels("tiny/siglip-1", [Path("blue.png")])[0])
