"""A head is transformers' LLaVA, and cached tokens equal those of the tower."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.towers.heads import conversations
from snellen.towers.heads.conversations import Conversation, ConversationTurn, Wording, passages
from snellen.towers.heads.towers import TOWERS, find_tower
from tests.helpers.extras import lazy_module

torch = lazy_module("torch")
transformers = lazy_module("transformers")
composition = lazy_module("snellen.towers.heads.composition")
language_models = lazy_module("snellen.towers.heads.language_models")
tower_models = lazy_module("snellen.towers.heads.tower_models")


IMAGE = Path("image.png")
SMALL = "random-qwen2?layers=2&width=32"
DIALOGUE = Conversation(
    "talk", (ConversationTurn((IMAGE, "How many cups?"), "3"), ConversationTurn(("And plates?",), "No plates"))
)


@pytest.fixture(scope="module")
def language() -> Any:
    return language_models.load_language_model(SMALL)


def rendered(conversation: Conversation, template: conversations.Template) -> str:
    """The wording, with images as `<image>` and the learned text in braces."""
    stretches = passages(conversation, template, "<|endoftext|>")
    return "".join("<image>" if p.text is None else f"{{{p.text}}}" if p.learned else p.text for p in stretches)


def test_templates_equal_those_of_tinyllava() -> None:
    """Golden: the texts of TinyLLaVA's `qwen2_base` and `pretrain` for the same turns."""
    assert rendered(DIALOGUE, "conversation") == (
        "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
        "detailed, and polite answers to the user's questions. USER: <image>\nHow many cups? ASSISTANT:"
        "{ 3<|endoftext|>}USER: And plates? ASSISTANT:{ No plates<|endoftext|>}"
    )
    question = Conversation("question", (ConversationTurn((IMAGE, "How many cups?"), None),))
    assert rendered(question, "conversation").endswith("USER: <image>\nHow many cups? ASSISTANT:")
    caption = Conversation("caption", (ConversationTurn((IMAGE, "Describe it."), "A cup on a table."),))
    assert rendered(caption, "caption") == "<image>{A cup on a table.\n}"
    words = Conversation("words", (ConversationTurn(("Two and two?",), "4"),))
    assert rendered(words, "conversation").endswith("questions. USER: Two and two? ASSISTANT:{ 4<|endoftext|>}")
    between = Conversation("between", (ConversationTurn(("First", IMAGE, IMAGE, "last?"), "4"),))
    assert "USER: First\n<image>\n<image>\nlast? ASSISTANT:" in rendered(between, "conversation")


def test_tokens_equal_those_of_the_tokenizer_and_answers_are_learned(language: Any) -> None:
    wording = Wording(language.tokenizer, language.image_id, 16)
    tokens = wording.tokens(DIALOGUE)
    assert tokens.ids.count(language.image_id) == 16
    assert tokens.images == (IMAGE,)
    learned = [label for label in tokens.labels if label != conversations.IGNORED]
    assert language.tokenizer.decode(learned) == "3 [SEP] no plates [SEP]"
    assert tokens.targets == len(learned) == 5
    assert all(label in (conversations.IGNORED, token) for token, label in zip(tokens.ids, tokens.labels, strict=True))
    words = [token for token in tokens.ids if token != language.image_id]
    text = "".join(p.text or "" for p in passages(DIALOGUE, "conversation", "[SEP]"))
    assert words == language.tokenizer(text, add_special_tokens=False).input_ids


def test_the_text_of_an_image_mark_is_ordinary_text(language: Any) -> None:
    wording = Wording(language.tokenizer, language.image_id, 4)
    assert language.image_id not in wording.tokens(Conversation("", (ConversationTurn(("<image> [IMG]",), "1"),))).ids


def test_long_conversations_are_truncated_but_never_inside_an_image(
    language: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    wording = Wording(language.tokenizer, language.image_id, 1000)
    cut = wording.tokens(Conversation("", (ConversationTurn((IMAGE, "word " * 3000), "1"),)))
    assert len(cut.ids) == len(cut.labels) == conversations.MAX_LENGTH
    with pytest.raises(SnellenError, match="two long: its images do not fit into the maximum of 2048 tokens"):
        wording.tokens(long := Conversation("two long", (ConversationTurn((IMAGE,) * 3, "1"),)))
    short = Conversation("short", (ConversationTurn((IMAGE, "word"), "1"),))
    assert conversations.learnable(wording, [long, short]) == [short]
    assert "1 conversations are left out; the first: two long" in capsys.readouterr().err
    with pytest.raises(SnellenError, match="two long"):
        conversations.learnable(wording, [long])


@pytest.fixture(scope="module")
def narrow(language: Any) -> Any:
    """The same model with a vocabulary of 64, so that a step is quick."""
    config = language_models.random_config(SMALL, 64)
    config.vocab_size = 64
    return language_models.LanguageModel(transformers.AutoModelForCausalLM.from_config(config), language.tokenizer, 63)


def composed(name: str, language: Any) -> tuple[Any, Any, Any]:
    """(head, pixels of two images, token ids of a prompt for each) on the tower of that name."""
    tower = find_tower(name)
    draws = torch.Generator().manual_seed(1)
    pixels = torch.randn(2, 3, tower.side, tower.side, generator=draws)
    words = torch.randint(0, 60, (2, 6), generator=draws)
    ids = torch.cat([words[:, :2], torch.full((2, tower.tokens), language.image_id), words[:, 2:]], dim=1)
    return composition.compose(tower, language), pixels, ids


@pytest.mark.parametrize("name", [name for name, tower in TOWERS.items() if tower.model])
def test_cached_tokens_equal_live_ones_bitwise(name: str, narrow: Any) -> None:
    """The loss, gradients of the connector and generated tokens are equal in float32 for every family."""
    head, pixels, ids = composed(f"tiny/{name}", narrow)
    head.generation_config.eos_token_id = None
    cached = tower_models.image_tokens(find_tower(f"tiny/{name}"), tower_models.load_tower(f"tiny/{name}"), pixels)
    connector = head.model.multi_modal_projector.requires_grad_(True)
    outcomes = []
    for images in (pixels, cached):
        head.zero_grad()
        loss = head(input_ids=ids, pixel_values=images, labels=ids).loss
        loss.backward()
        tokens = head.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), pixel_values=images, max_new_tokens=3, do_sample=False
        )
        outcomes.append([loss.detach(), tokens, *(weight.grad.clone() for weight in connector.parameters())])
    assert all(torch.equal(first, second) for first, second in zip(*outcomes, strict=True))
    assert outcomes[0][2].abs().sum() > 0


def test_the_image_changes_the_logits(narrow: Any) -> None:
    head, pixels, ids = composed("tiny/clip-l", narrow)
    with torch.no_grad():
        first, second = head(input_ids=ids[:1].expand(2, -1), pixel_values=pixels).logits[:, -1]
    assert not torch.allclose(first, second)


def test_a_composed_head_has_no_tower_and_its_connector_depends_on_the_seed(language: Any) -> None:
    tower = find_tower("tiny/clip-l")
    head, same, other = (composition.compose(tower, language, seed) for seed in (0, 0, 1))
    connectors = [
        torch.cat([w.flatten() for w in m.model.multi_modal_projector.parameters()]) for m in (head, same, other)
    ]
    assert torch.equal(connectors[0], connectors[1])
    assert not torch.equal(connectors[0], connectors[2])
    assert not any("vision_tower" in key for key in head.state_dict())
    # Linear, GELU, Linear: 32 x 32 and 32, twice.
    assert connectors[0].numel() == 2 * (32 * 32 + 32)
    assert not any(weight.requires_grad for weight in head.parameters())


def test_wrong_settings_of_the_random_model_are_refused() -> None:
    with pytest.raises(SnellenError, match="did you mean 'width'"):
        language_models.load_language_model("random-qwen2?widht=3")
