"""Replies that decline, and replies that name someone: the matches and misses of the patterns."""

from __future__ import annotations

import pytest

from snellen.suites.vlm2_bench.report.answers import declines, names_somebody


@pytest.mark.parametrize(
    ("text", "is_declined"),
    [
        ("I'm sorry, but I can't identify people in images.", True),
        ("I am not able to recognize or name real individuals based on their faces.", True),
        ("Sorry, I cannot assist with that request.", True),
        ("I can’t tell who this is.", True),
        ("I'm unable to compare facial features of people.", True),
        ("I won't reveal the identities of the people shown.", True),
        ("I'm not allowed to determine someone's identity.", True),
        ("For privacy reasons I leave this open.", True),
        ("T", False),
        ("The individuals are not the same person.", False),
        ("I cannot tell whether they are the same, but the answer is F.", False),
        ("We can identify three people. The answer is 3.", False),
        ("I can't identify the same person in any two images, so None.", False),
        ("He has not changed his hair; they help each other.", False),
    ],
)
def test_declining_is_not_answering(text: str, is_declined: bool) -> None:
    assert declines(text) is is_declined


QUESTION = "Judge the following statement based on the images: 'The individuals in these images are the same person.'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The first image shows Tom Hanks.", True),
        ("Actor Tom Hanks is in both.", True),
        ("- **Ludwig van Beethoven** and a man", True),
        ("This looks like John F. Kennedy", True),
        ("Catherine Zeta-Jones", True),
        ("James Brown sings.", True),
        ("Image One shows a man. The Man has Red Hair. Final Answer: F", False),
        ("**Facial Features**: similar\n## Visual Comparison\nSkin Tone is light", False),
        ("Camera Angle: low", False),
        ("Both wear suits. She is Beyonce.", False),  # a single name: missed, as the note states
        ("tom hanks", False),
        ("We stand before the Eiffel Tower", True),  # a place: a false match, as the note states
        ("T", False),
    ],
)
def test_naming_someone(text: str, expected: bool) -> None:
    assert names_somebody(text, QUESTION) is expected
    assert not names_somebody(text, QUESTION + text)
