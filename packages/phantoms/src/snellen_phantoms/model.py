"""The architecture: FastVLM with a small ResNet and a Llama decoder, its tokenizer and processor."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from snellen_phantoms.store import PX

TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {% if m['content'] is string %}{{ m['content'] }}{% else %}"
    "{% for c in m['content'] %}{% if c['type'] == 'image' %}<image>{% else %}{{ c['text'] }}{% endif %}{% endfor %}"
    "{% endif %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)
SPECIAL = ("<pad>", "<s>", "</s>", "<image>")
CELL = 32
"""Side of an image token in pixels: 16 tokens an image of 128 px."""
WIDTH, LAYERS, HEADS, VOCABULARY = 192, 3, 6, 600


def make_processor(texts: Iterable[str], px: int = PX) -> Any:
    """A processor with a tokenizer made from prompts and answers, which resizes images to `px` x `px`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    transformers: Any = import_module("transformers")
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator([*texts, "user: ", "assistant: "], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
        additional_special_tokens=["<image>"], padding_side="left",
    )  # fmt: skip
    images = transformers.CLIPImageProcessorPil(
        size={"height": px, "width": px}, do_center_crop=False, image_mean=[0.5] * 3, image_std=[0.5] * 3
    )
    return transformers.LlavaProcessor(
        image_processor=images, tokenizer=tokenizer, patch_size=CELL, vision_feature_select_strategy="full",
        chat_template=TEMPLATE, image_token="<image>", num_additional_image_tokens=0,
    )  # fmt: skip


def make_model(processor: Any, seed: int, width: int = WIDTH, layers: int = LAYERS) -> Any:
    """A model with random weights, 3.4 million for the default width."""
    import torch

    transformers: Any = import_module("transformers")
    torch.manual_seed(seed)
    # The projector asks for hidden_size, which a ResNet lacks.
    tower = transformers.ResNetConfig(
        embedding_size=24, hidden_sizes=[64, 128, width], depths=[2, 2, 2], layer_type="basic",
        downsample_in_first_stage=True, hidden_size=width,
    )  # fmt: skip
    tokenizer = processor.tokenizer
    text = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=width, intermediate_size=512, num_hidden_layers=layers,
        num_attention_heads=HEADS, num_key_value_heads=HEADS, max_position_embeddings=512, tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    config = transformers.FastVlmConfig(
        vision_config=tower, text_config=text, image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1, vision_feature_select_strategy="full", tie_word_embeddings=True,
    )  # fmt: skip
    return transformers.FastVlmForConditionalGeneration(config)


def save_folder(model: Any, processor: Any, folder: Path) -> None:
    """Save what `chat:hf/FOLDER` loads, weights as fp16. The model itself stays as it is."""
    state = {name: value.half() if value.is_floating_point() else value for name, value in model.state_dict().items()}
    model.save_pretrained(folder, state_dict=state)
    processor.save_pretrained(folder)
