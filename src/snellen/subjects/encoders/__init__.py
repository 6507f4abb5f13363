"""Image encoders as subjects: features of images, and readouts that turn features into answers."""

from snellen.subjects.encoders.encoder import Encoder, TextSide, encode
from snellen.subjects.encoders.factory import ENCODERS, load_encoder, make_encoder
from snellen.subjects.encoders.subject import EncoderSubject

__all__ = ["ENCODERS", "Encoder", "EncoderSubject", "TextSide", "encode", "load_encoder", "make_encoder"]
