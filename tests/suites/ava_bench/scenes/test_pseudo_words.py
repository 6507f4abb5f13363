"""Letters as bars, which cover the same area as the outlines of the face."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from snellen.core.seeds import stream
from snellen.suites.ava_bench.scenes import pseudo_words
from snellen.suites.ava_bench.scenes.pseudo_words import CONSONANTS, FACES, ROWS, VOWELS, bars, draw_word, word_bars

LETTERS = CONSONANTS + VOWELS
Pixels = NDArray[np.bool_]


def ink_of(letter: str, face: str) -> Pixels:
    """The letter as drawn by a font library, large, cropped to its ink and the height of a capital."""
    from matplotlib import get_data_path

    font = ImageFont.truetype(f"{get_data_path()}/fonts/ttf/{FACES[face]}", 400)
    capital = -round(font.getbbox("H", anchor="ls")[1])
    image = Image.new("L", (3 * capital, capital))
    ImageDraw.Draw(image).text((capital, capital), letter, 255, font=font, anchor="ls")
    mask = np.asarray(image) > 127
    columns = np.flatnonzero(mask.any(axis=0))
    return np.asarray(mask[:, columns[0] : columns[-1] + 1])


def filled(letter: str, face: str, shape: tuple[int, ...]) -> Pixels:
    mask = np.zeros(shape, bool)
    for left, low, right, high in bars(letter, face):
        unit = shape[0]
        mask[round(unit * (1 - high)) : round(unit * (1 - low)), round(unit * left) : round(unit * right)] = True
    return mask


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("letter", LETTERS)
def test_bars_cover_the_ink_of_the_face(letter: str, face: str) -> None:
    ink = ink_of(letter, face)
    cover = filled(letter, face, ink.shape)
    # Slanted and round edges are off by at most half a row: a fourteenth of the height, on both sides of a stroke.
    assert (ink & cover).sum() / (ink | cover).sum() > 0.85


@pytest.mark.parametrize("face", FACES)
def test_no_two_letters_look_alike(face: str) -> None:
    shapes = {letter: filled(letter, face, (ROWS * 8, ROWS * 12)) for letter in LETTERS}
    for first, second in combinations(LETTERS, 2):
        differ = (shapes[first] ^ shapes[second]).sum() / (shapes[first] | shapes[second]).sum()
        assert differ > 0.08, (first, second)


def test_letters_of_a_word_are_side_by_side() -> None:
    bars_of_word, width = word_bars("LIT", "sans")
    assert min(left for left, *_ in bars_of_word) == 0
    assert max(right for _, _, right, _ in bars_of_word) == pytest.approx(width)
    alone = [max(right for _, _, right, _ in bars(letter, "sans")) for letter in "LIT"]
    assert width == pytest.approx(sum(alone) + 2 * pseudo_words.GAP)
    assert all(0 <= low < high <= 1 and left < right for left, low, right, high in bars_of_word)


def test_words_have_their_length_and_known_letters() -> None:
    rng = stream("t")
    for length in range(pseudo_words.SHORTEST, pseudo_words.LONGEST + 1):
        word = draw_word(length, rng)
        assert len(word) == length
        assert set(word) <= set(LETTERS)
