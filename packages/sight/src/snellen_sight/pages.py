"""Results to show: a table of checks and models in HTML, and an image of one result."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from textwrap import wrap

from PIL import Image, ImageDraw, ImageFont

from snellen_sight.results import MARKS, SightLine, SightResult

INKS = {"fine": "#1a7f37", "not so": "#b3261e", "cannot tell": "#6b6b6b"}
WIDTH, MARGIN, ROW, TEXT_X = 860, 24, 26, 150
"""Pixels of the image: its width, margin, height of a row of text, and where texts begin."""
LETTERS_PER_ROW = 76
_STYLE = """body{font:15px/1.4 system-ui,sans-serif;margin:2rem}table{border-collapse:collapse}
th,td{border:1px solid #ccc;padding:.4rem .6rem;text-align:left;vertical-align:top;max-width:22rem}"""


def matrix_of(results: Sequence[SightResult]) -> str:
    """A page with one row per check and one column per model."""
    checks = dict.fromkeys(line.check for result in results for line in result.lines)
    heads = "".join(f'<th scope="col">{escape(result.model)}</th>' for result in results)
    rows = "".join(
        f'<tr><th scope="row">{escape(check)}</th>{"".join(_cell(result, check) for result in results)}</tr>\n'
        for check in checks
    )
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>What of an image arrives</title>\n'
        f"<style>{_STYLE}</style>\n<h1>What of an image arrives</h1>\n<table>\n<tr><th></th>{heads}</tr>\n{rows}"
        f"</table>\n<p>snellen-sight, {escape(results[0].date[:10])}</p>\n</html>\n"
    )


def _cell(result: SightResult, check: str) -> str:
    line = next((line for line in result.lines if line.check == check), None)
    if line is None:
        return "<td>not asked</td>"
    mark = f'<b style="color:{INKS[line.verdict]}">{escape(MARKS[line.verdict])}</b>'
    return f"<td>{mark}<br>{escape(line.text)}</td>"


def card_of(result: SightResult) -> Image.Image:
    """An image of a result, one row per check."""
    rows = [(line, wrap(line.text, LETTERS_PER_ROW)) for line in result.lines]
    height = 2 * MARGIN + ROW * (2 + sum(len(texts) for _, texts in rows))
    image = Image.new("RGB", (WIDTH, height), "white")
    draw, font, y = ImageDraw.Draw(image), ImageFont.load_default(17), MARGIN
    title = f"What reaches {result.model} ({result.date[:10]}, {len(result.calls)} calls)"
    draw.text((MARGIN, y), title[:LETTERS_PER_ROW], "black", ImageFont.load_default(20))
    y += 2 * ROW
    for line, texts in rows:
        _draw_line(draw, font, y, line, texts)
        y += ROW * len(texts)
    return image


def _draw_line(
    draw: ImageDraw.ImageDraw, font: ImageFont.ImageFont | ImageFont.FreeTypeFont, y: int, line: SightLine,
    texts: Sequence[str],
) -> None:  # fmt: skip
    draw.text((MARGIN, y), MARKS[line.verdict], INKS[line.verdict], font)
    for number, text in enumerate(texts):
        draw.text((TEXT_X, y + number * ROW), text, "black", font)
