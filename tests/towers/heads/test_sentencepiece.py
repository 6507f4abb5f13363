"""Language models whose tokenizer is a SentencePiece file alone, as those of Vicuna and Llama 2 on the hub."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.subjects import checkpoints
from tests.helpers.extras import lazy_module

sentencepiece = lazy_module("sentencepiece")
transformers = lazy_module("transformers")
torch = lazy_module("torch")
language_models = lazy_module("snellen.towers.heads.language_models")

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
CONFIG = {"tokenizer_class": "LlamaTokenizer", "legacy": False, "add_bos_token": True, "pad_token": None, **SPECIAL}
TEXT = "A chat between a user and an assistant. The user shows an image and asks how many blue cubes there are.\n"


def test_missing_packages_are_named_if_the_tokenizer_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tokenizer.model").write_bytes(b"\x0e\x0a")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    monkeypatch.setattr(checkpoints, "missing_packages", list)
    with pytest.raises(SnellenError, match=r"no tokenizer .* pip install sentencepiece protobuf"):
        checkpoints.read_tokenizer("model x", str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}")
    assert checkpoints._tokenizer_remedy(str(tmp_path)) == "save the model's own with it"
    (tmp_path / "tokenizer.json").unlink()
    monkeypatch.setattr(checkpoints, "missing_packages", lambda names: [])
    assert checkpoints._tokenizer_remedy(str(tmp_path)) == "save the model's own with it"


@pytest.mark.skipif(find_spec("sentencepiece") is None, reason="an installation of the extra models from before it")
def test_a_folder_with_a_sentencepiece_file_and_weights_as_bin_loads(tmp_path: Path) -> None:
    text, folder = tmp_path / "text.txt", tmp_path / "vicuna"
    folder.mkdir()
    text.write_text(TEXT * 50)
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / "tokenizer"), vocab_size=300, model_type="bpe", byte_fallback=True,
        unk_id=0, bos_id=1, eos_id=2, pad_id=-1, normalization_rule_name="identity",
    )  # fmt: skip
    (folder / "tokenizer.vocab").unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps(CONFIG))
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, vocab_size=300))
    model.config.save_pretrained(folder)
    buffer = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.zeros(8)}  # stored by earlier versions
    torch.save({**model.state_dict(), **buffer}, folder / "pytorch_model.bin")
    loaded = language_models.load_language_model(str(folder))
    ids = loaded.tokenizer("A chat between a user and an assistant.")["input_ids"]
    assert loaded.tokenizer.decode(ids, skip_special_tokens=True) == "A chat between a user and an assistant."
