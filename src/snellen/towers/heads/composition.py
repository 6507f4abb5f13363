"""Tower, connector and language model in one: transformers' LLaVA, whose tower may be live or cached.

Imports torch: import it inside functions.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoModel, LlavaConfig, LlavaForConditionalGeneration
from transformers.configuration_utils import PreTrainedConfig
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.modeling_utils import PreTrainedModel

from snellen.core.seeds import seed_of
from snellen.towers.heads.language_models import LanguageModel
from snellen.towers.heads.tower import Tower
from snellen.towers.heads.tower_models import image_tokens, load_tower
from snellen.towers.heads.towers import find_tower


class TowerConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]  # a hook without types
    """The tower behind the adapter, and the number of features of its tokens."""

    model_type = "snellen_tower"
    tower: str = ""
    hidden_size: int = 1


class TowerAdapter(PreTrainedModel):  # type: ignore[no-untyped-call]  # a hook without types
    """A tower for LLaVA. Pixels (n, 3, side, side) go through the tower; tensors of three axes are cached tokens.

    It has no weights: towers are loaded once per process, at the first pixels.
    """

    config_class = TowerConfig
    main_input_name = "pixel_values"
    _supports_sdpa = _supports_flash_attn = _supports_attention_backend = True

    def __init__(self, config: TowerConfig) -> None:
        super().__init__(config)
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(self, pixel_values: torch.Tensor, **_: Any) -> BaseModelOutputWithPooling:
        """Tokens (n, tokens, width), as the only hidden state."""
        tokens = pixel_values
        if pixel_values.ndim == 4:
            name, device = self.config.tower, str(pixel_values.device)
            tokens = image_tokens(find_tower(name), load_tower(name, device), pixel_values.float())
        return BaseModelOutputWithPooling(last_hidden_state=tokens, hidden_states=(tokens,))


AutoConfig.register(TowerConfig.model_type, TowerConfig, exist_ok=True)
AutoModel.register(TowerConfig, TowerAdapter, exist_ok=True)


def llava_config(tower: Tower, language_config: Any, **image: Any) -> LlavaConfig:
    """The configuration of a LLaVA with this tower and language model, whose connector reads all tokens."""
    vision = TowerConfig(tower=tower.name, hidden_size=tower.width)
    image |= {"vision_feature_layer": -1, "vision_feature_select_strategy": "full"}
    return LlavaConfig(vision_config=vision, text_config=language_config, **image)


def compose(tower: Tower, language: LanguageModel, seed: int = 0) -> Any:
    """`LlavaForConditionalGeneration` with the language model's own weights and a fresh two-layer GELU connector.

    The language model becomes part of it and is not copied.
    """
    lm: Any = language.model
    config = llava_config(tower, lm.config, image_token_index=language.image_id, image_seq_length=tower.tokens)
    with torch.device("meta"):
        model: Any = LlavaForConditionalGeneration(config)
    model.model.language_model = getattr(lm, lm.base_model_prefix)
    model.lm_head = lm.get_output_embeddings()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_of("connector", seed))
        model.model.multi_modal_projector = type(model.model.multi_modal_projector)(config)
    end, padding = language.tokenizer.eos_token_id, language.tokenizer.pad_token_id
    ends = {"eos_token_id": end, "pad_token_id": end if padding is None else padding}
    model.generation_config = type(lm.generation_config)(**ends)
    return model.requires_grad_(False).eval()
