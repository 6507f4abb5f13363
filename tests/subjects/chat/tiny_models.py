"""Tiny random chat models of transformers, saved with all files to a folder, so no hub is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.helpers.extras import lazy_module

torch, transformers, tokenizers = map(lazy_module, ("torch", "transformers", "tokenizers"))

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message['role'] }}]{% for block in message['content'] %}"
    "{% if block['type'] == 'image' %}IMAGE{% else %}{{ block['text'] }}{% endif %}{% endfor %}<end>"
    "{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)
LLAVA_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] | upper }}: "
    "{% for block in message['content'] if block['type'] == 'image' %}<image>\n{% endfor %}"
    "{% for block in message['content'] if block['type'] == 'text' %}{{ block['text'] }} {% endfor %}"
    "{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)
"""As LLaVA-1.5's: images before texts, no start token, and nothing that ends a reply."""
TEXT: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "initializer_range": 0.3,  # so that images and questions change the replies
}
VISION: dict[str, Any] = {
    "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 16,
    "patch_size": 4,
}  # fmt: skip


def tokenizer(folder: Path, *special: str, **extra: str) -> Any:
    """A tokenizer with one token per byte, then `<pad>`, `<s>`, `<end>` and the given special tokens."""
    bytewise = tokenizers.pre_tokenizers.ByteLevel
    vocabulary = {letter: index for index, letter in enumerate(sorted(bytewise.alphabet()))}
    raw_tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    raw_tokenizer.pre_tokenizer, raw_tokenizer.decoder = (
        bytewise(add_prefix_space=False),
        tokenizers.decoders.ByteLevel(),
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw_tokenizer,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="<end>",
        extra_special_tokens=extra,
    )
    fast.add_special_tokens({"additional_special_tokens": list(special)}, replace_extra_special_tokens=False)
    begin = ("<s>", fast.bos_token_id)  # like Llama's, if nothing else begins a text
    fast.backend_tokenizer.post_processor = tokenizers.processors.TemplateProcessing("<s> $A", special_tokens=[begin])
    fast.save_pretrained(folder)
    return fast


def finish(
    folder: Path, kind: str, config: Any, processor: str, token_names: dict[str, Any], image: str, **more: Any
) -> Path:
    """Save weights (the same for the same configuration), image processor, processor and chat template."""
    torch.manual_seed(0)
    getattr(transformers, kind)(config).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps({"image_processor_type": processor} | token_names))
    (folder / "processor_config.json").write_text(json.dumps(more))
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE.replace("IMAGE", image))
    return folder


def _ends(words: Any) -> dict[str, int]:
    return {"vocab_size": len(words), "bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id}


def llama_tokenizer(folder: Path, *special: str) -> Any:
    """One token per character in Llama's manner: a space begins a token (`▁A`), and one is put before a text."""
    letters = [chr(code) for code in (10, *range(33, 127))]
    words = ["<unk>", "<s>", "</s>", "▁", *letters, *(f"▁{letter}" for letter in letters)]
    raw_tokenizer = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            {word: index for index, word in enumerate(words)}, [("▁", letter) for letter in letters], unk_token="<unk>"
        )
    )
    normalizers = tokenizers.normalizers
    raw_tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    raw_tokenizer.decoder = tokenizers.decoders.Sequence(
        [tokenizers.decoders.Replace("▁", " "), tokenizers.decoders.Fuse(), tokenizers.decoders.Strip(" ", 1, 0)]
    )
    raw_tokenizer.post_processor = tokenizers.processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw_tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>"
    )
    fast.add_special_tokens({"additional_special_tokens": list(special)}, replace_extra_special_tokens=False)
    fast.save_pretrained(folder)
    return fast


def llava(folder: Path, **text: Any) -> Path:
    """CLIP and Llama: 16 tokens per image of 16 by 16 pixels, cropped from its centre."""
    return _llava(folder, tokenizer(folder, "<image>"), **text)


def llava_1_5(folder: Path, **text: Any) -> Path:
    """The same with a tokenizer and a chat template in the manner of `llava-hf/llava-1.5-7b-hf`."""
    _llava(folder, llama_tokenizer(folder, "<image>"), **text)
    (folder / "chat_template.jinja").write_text(LLAVA_TEMPLATE)
    return folder


def _llava(folder: Path, words: Any, **text: Any) -> Path:
    sees = transformers.CLIPVisionConfig(**VISION)
    speaks = transformers.LlamaConfig(**TEXT | _ends(words) | text)
    config = transformers.LlavaConfig(
        vision_config=sees, text_config=speaks, image_token_index=words.convert_tokens_to_ids("<image>")
    )
    image_settings = {"size": {"shortest_edge": 16}, "crop_size": {"height": 16, "width": 16}}
    more = {"patch_size": 4, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    processor = {"processor_class": "LlavaProcessor"} | more
    kind = "LlavaForConditionalGeneration"
    return finish(folder, kind, config, "CLIPImageProcessor", image_settings, "<image>", **processor)


def idefics3(folder: Path, **text: Any) -> Path:
    """SigLIP and Llama: tiles of 16 by 16 pixels and the complete image, 4 tokens each."""
    rows = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    words = tokenizer(folder, "<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", *rows)
    speaks = transformers.LlamaConfig(
        **TEXT
        | {"vocab_size": len(words), "bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id}
        | text
    )
    config = transformers.Idefics3Config(
        vision_config=VISION, text_config=speaks, image_token_id=words.convert_tokens_to_ids("<image>"), scale_factor=2
    )
    image_settings = {"size": {"longest_edge": 32}, "max_image_size": {"longest_edge": 16}, "do_image_splitting": True}
    processor = {"processor_class": "Idefics3Processor", "image_seq_len": 4}
    kind = "Idefics3ForConditionalGeneration"
    return finish(folder, kind, config, "Idefics3ImageProcessor", image_settings, "<image>", **processor)


def qwen2_vl(folder: Path, **text: Any) -> Path:
    """One token per 8 by 8 pixels of an image of any shape; its processor also handles videos."""
    marks = ["<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"]
    words = tokenizer(folder, *marks)
    ids = dict(zip(marks, words.convert_tokens_to_ids(marks), strict=True))
    sees = {"depth": 2, "embed_dim": 16, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2, "patch_size": 4}
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}
    speaks = TEXT | _ends(words) | {"rope_parameters": rope} | text
    config = transformers.Qwen2VLConfig(
        vision_config=sees,
        text_config=speaks,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    image_settings = {"patch_size": 4, "merge_size": 2, "size": {"shortest_edge": 64, "longest_edge": 1024}}
    image = "<|vision_start|><|image_pad|><|vision_end|>"
    kind = "Qwen2VLForConditionalGeneration"
    return finish(
        folder, kind, config, "Qwen2VLImageProcessor", image_settings, image, processor_class="Qwen2VLProcessor"
    )


def gemma3(folder: Path, **text: Any) -> Path:
    """SigLIP and Gemma: 4 tokens per image of 16 by 16 pixels; another token precedes it and marks it in messages."""
    marks = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
    words = tokenizer(folder, **marks)
    ids = {f"{name}_index": words.convert_tokens_to_ids(mark) for name, mark in marks.items()}
    sees = {"model_type": "siglip_vision_model"} | VISION
    speaks = {"model_type": "gemma3_text", "head_dim": 8} | TEXT | _ends(words) | text
    config = transformers.Gemma3Config(vision_config=sees, text_config=speaks, mm_tokens_per_image=4, **ids)
    image_settings = {"size": {"height": 16, "width": 16}}
    processor = {"processor_class": "Gemma3Processor", "image_seq_length": 4}
    kind = "Gemma3ForConditionalGeneration"
    return finish(folder, kind, config, "Gemma3ImageProcessor", image_settings, "<start_of_image>", **processor)
