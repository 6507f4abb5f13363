"""A rollout as tables and heat maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from examples.attention.rollout import TOP, Rollout, span_shares, top_tokens, visual_shares
from examples.attention.spans import Span
from snellen.core.storage import files
from snellen.core.storage.media import MediaFolder

OPACITY = 0.6
"""Of the heat over an image."""


def heat(rollout: Rollout, span: Span, layer: int = -1) -> NDArray[np.float64]:
    """The attention on an image after a layer, by pixel of the image shown, (height, width).

    A visual token's share is spread evenly over the pixels it stands for; where an image is seen both in tiles and as
    a whole, both are added. What the model did not see is 0. ValueError where the layout of the image's tokens is not
    known (no `tiles`).
    """
    if not span.tiles or span.media is None:
        raise ValueError(f"{span.name}: which pixels its tokens stand for is not known")
    shares = rollout.rows[layer, list(span.visual_tokens)].astype(np.float64)
    map = np.zeros((span.media.height, span.media.width))
    for tile in span.tiles:
        x1, y1, x2, y2 = tile.box
        columns = np.floor((np.arange(span.media.width) + 0.5 - x1) / (x2 - x1) * tile.columns).astype(int)
        rows = np.floor((np.arange(span.media.height) + 0.5 - y1) / (y2 - y1) * tile.rows).astype(int)
        across, down = (columns >= 0) & (columns < tile.columns), (rows >= 0) & (rows < tile.rows)
        grid = shares[tile.first : tile.first + tile.rows * tile.columns].reshape(tile.rows, tile.columns)
        pixels_a_token = (x2 - x1) * (y2 - y1) / grid.size
        map[np.ix_(down, across)] += grid[np.ix_(rows[down], columns[across])] / pixels_a_token
    return map


def overlay(image: Image.Image, map: NDArray[np.float64]) -> Image.Image:
    """The image, grey, with a heat map of its size over it; the hottest pixel is brightest, whatever its value."""
    from matplotlib import colormaps

    scaled = map / (map.max() or 1.0)
    colours = Image.fromarray((colormaps["inferno"](scaled)[..., :3] * 255).astype(np.uint8))
    return Image.blend(image.convert("L").convert("RGB"), colours, OPACITY)


def share_table(rollout: Rollout) -> pd.DataFrame:
    """One row a layer and span: layer, span, kind, role, tokens, share, share_of_visual (images alone)."""
    shares, images = span_shares(rollout), list(rollout.images)
    visual = visual_shares(rollout) if images else None
    return pd.DataFrame(
        {
            "layer": layer,
            "span": span.name,
            "kind": span.kind,
            "role": span.role,
            "first_token": span.start,
            "tokens": span.stop - span.start,
            "share": shares[layer, index],
            "share_of_visual": None if visual is None or not span.visual_tokens else visual[layer, images.index(span)],
        }
        for layer in range(len(shares))
        for index, span in enumerate(rollout.spans)
    )


def top_table(rollout: Rollout, count: int = TOP) -> pd.DataFrame:
    """The largest shares, over all tokens and over visual ones: layer, among, rank, position, token, span, share."""
    names = np.empty(rollout.rows.shape[1], dtype=object)
    for span in rollout.spans:
        names[span.start : span.stop] = span.name
    return pd.DataFrame(
        {
            "layer": layer,
            "among": among,
            "rank": rank,
            "position": position,
            "token": rollout.token_texts[position],
            "span": names[position],
            "share": rollout.rows[layer, position],
        }
        for among in ("all", "visual")
        for layer, positions in enumerate(top_tokens(rollout, count, visual=among == "visual"))
        for rank, position in enumerate(positions, 1)
    )


def write_attention(rollout: Rollout, media: MediaFolder, folder: Path, layer: int = -1) -> tuple[Path, ...]:
    """Write `shares.csv`, `top.csv`, and `image-N.png` for each image whose layout is known; returns the paths.

    `layer` is the one whose heat maps are drawn.
    """
    written: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in (("shares.csv", share_table(rollout)), ("top.csv", top_table(rollout))):
        written.append(folder / name)
        files.write_csv(written[-1], table)
    for span in rollout.images:
        if span.tiles and span.media is not None:
            written.append(folder / f"{span.name.replace(' ', '-')}.png")
            overlay(media.open(span.media), heat(rollout, span, layer)).save(written[-1])
    return tuple(written)
