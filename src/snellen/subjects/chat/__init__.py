"""Chat models, called over HTTP, through inspect_ai's model layer, or run in this process by transformers."""

from snellen.subjects.chat.settings import ChatSettings
from snellen.subjects.chat.subject import ChatSubject, make_chat
from snellen.subjects.chat.transformers_model import TransformersChat

__all__ = ["ChatSettings", "ChatSubject", "TransformersChat", "make_chat"]
