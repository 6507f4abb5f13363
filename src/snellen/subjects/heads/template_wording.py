"""Conversations in the chat template of a published model, as tokens to learn from and exactly as it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from snellen.core.errors import SnellenError
from snellen.subjects.chat.transformers_model import lacks_begin, write_turns
from snellen.subjects.heads.conversations import IGNORED, Conversation, Passage, Tokens, Wording


@dataclass(frozen=True)
class TemplateWording(Wording):
    """Converts conversations to tokens by the chat template of `processor`; replies and their end are learned.

    `ends` are the tokens that end a reply in generation, as text. A template that writes none of them after a reply
    (LLaVA-1.5's) gets the first one there, as in LLaVA's own training.
    """

    processor: Any = None
    ends: tuple[str, ...] = ()

    def tokens(self, conversation: Conversation) -> Tokens:
        """Ids and labels. Raises SnellenError if the template does not fit, or if images exceed `MAX_LENGTH`."""
        image, text, spans = self.processor.image_token, "", list[tuple[int, int]]()
        for passage in self._passages(conversation):
            begin = len(text)
            text += passage.text or ""
            if passage.learned:
                spans.append((begin, len(text)))
        encoded = self.tokenizer(
            text, add_special_tokens=lacks_begin(self.processor, text), return_offsets_mapping=True
        )
        ids, places = encoded["input_ids"], encoded["offset_mapping"]
        if text.count(image) != self.image_tokens * len(conversation.images):
            raise SnellenError(f"{conversation.name}: its words contain {image!r}, which stands for an image")
        learned = (any(first <= begin < end <= last for first, last in spans) for begin, end in places)
        labels = [token if is_learned else IGNORED for token, is_learned in zip(ids, learned, strict=True)]
        return self._cut(conversation, ids, labels)

    def _passages(self, conversation: Conversation) -> Iterator[Passage]:
        """The text in parts, with as many placeholders as an image has tokens."""
        image, written = self.processor.image_token, ""
        earlier = list[tuple[Sequence[Any], str | None]]()
        for turn in conversation.turns:
            question = write_turns(self.processor, [*earlier, (turn.parts, None)])
            yield Passage(question.removeprefix(written).replace(image, image * self.image_tokens))
            if turn.reply is None:
                return
            reply = turn.reply.strip()
            earlier.append((turn.parts, reply))
            answer = write_turns(self.processor, earlier)
            fits = reply and question.startswith(written) and answer.startswith(question)
            if not fits or reply not in answer[len(question) :]:
                raise SnellenError(
                    f"{conversation.name}: an empty reply, or one that the model's chat template changes; leave it out"
                )
            before, _, after = answer[len(question) :].partition(reply)
            end = min((after.index(end) + len(end) for end in self.ends if end in after), default=0)
            yield Passage(before + reply + (after[:end] or self.ends[0]), learned=True)
            yield Passage(after[end:])
            written = answer
