"""Chat models, asked through the model layer of inspect_ai."""

from snellen.subjects.chat.settings import ChatSettings
from snellen.subjects.chat.subject import ChatSubject, make_chat

__all__ = ["ChatSettings", "ChatSubject", "make_chat"]
