"""Diversity sampling: the most typical queries of so many clusters of pictures, industry by industry (section 3.2).

An encoder looks at the queries, k-means with as many clusters as queries are wanted divides them, and of every cluster
the picture nearest to its centre is chosen. The paper's encoder is a CLIP; ours is any that `encoder:` can name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from snellen.compute import Progress
from snellen.core.item import Item, Media
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.curation.draws import equal_shares
from snellen.suites.vfm_bench.items import INDUSTRIES, SUITE, VERSION

AN_INDUSTRY, RANDOM_STATE = 1050, 42
"""Queries of an industry, and the seed of k-means (paper, Table 8; released code)."""
ENCODER = "efficientnet-lite0"
"""The encoder that is packaged: no download, but no CLIP."""
CHUNK = 256

Floats = npt.NDArray[np.floating]


def encoded(encoder: str, pictures: Sequence[Media], folder: MediaFolder, show_progress: bool) -> Floats:
    """Features of pictures, shape (n, d), in their order; kept from one build to the next by the encoder's layer."""
    from snellen.subjects.encoders import encode, load_encoder

    found = []
    with Progress("looking", unit="pictures", shown=show_progress) as progress:
        progress.expect(len(pictures))
        for start in range(0, len(pictures), CHUNK):
            chunk = pictures[start : start + CHUNK]
            found.append(encode(load_encoder(encoder), chunk, folder))
            progress.advance(len(chunk))
    return np.concatenate(found)


def shares(available: Mapping[str, int], n: int | None, an_industry: int = AN_INDUSTRY) -> dict[str, int]:
    """How many queries each industry gives: `an_industry`, or an equal part of `n`; never more than it has.

    What does not divide goes to the first ones. What an industry lacks is not made up for by another.
    """
    wanted = dict.fromkeys(available, an_industry) if n is None else equal_shares(available, n)
    return {name: min(count, available[name]) for name, count in wanted.items()}


def typical(features: Floats, clusters: int, random_state: int = RANDOM_STATE) -> list[int]:
    """The place of the picture nearest to the centre of each of so many clusters, in order of places.

    On one processor, so that sums come in one order and the choice is the same however many there are. Fewer places
    where pictures look the same to the encoder.
    """
    if clusters >= len(features):
        return list(range(len(features)))
    if clusters < 1:
        return []
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    points = np.asarray(features, np.float32)
    points = points - points.mean(axis=0)
    distinct = np.unique(points, axis=0, return_index=True)[1]
    if clusters >= len(distinct):
        return sorted(int(place) for place in distinct)
    with threadpool_limits(1):
        first = points[first_centres(points, clusters, stream(SUITE, VERSION, "k-means", random_state))]
        found = KMeans(len(first), init=first, n_init=1, random_state=random_state).fit(points)
        apart = np.square(points - found.cluster_centers_[found.labels_]).sum(axis=1)
    order = np.lexsort((apart, found.labels_))
    nearest = np.unique(found.labels_[order], return_index=True)[1]
    return sorted(int(place) for place in order[nearest])


def first_centres(points: npt.NDArray[np.float32], count: int, rng: np.random.Generator) -> list[int]:
    """Places of `count` different points, each drawn in proportion to its squared distance from those before it.

    k-means++ (Arthur and Vassilvitskii 2007). scikit-learn draws nine candidates for each and computes with double
    precision: at 1,050 of 7,500 points over ten times the time, for 1.5 % less inertia in the end.
    """
    squares = np.square(points).sum(axis=1)
    drawn = [int(rng.integers(len(points)))]
    apart = np.full(len(points), np.inf, np.float32)
    while len(drawn) < count:
        last = drawn[-1]
        np.minimum(apart, np.maximum(squares + squares[last] - 2 * (points @ points[last]), 0), out=apart)
        apart[last] = 0
        sums = np.cumsum(apart, dtype=np.float64)
        if not sums[-1]:
            break
        drawn.append(int(np.searchsorted(sums, rng.random() * sums[-1], side="right")))
    return drawn


def choose(
    items: Sequence[Item],
    look: Callable[[Sequence[Media]], Floats],
    n: int | None,
    an_industry: int = AN_INDUSTRY,
    random_state: int = RANDOM_STATE,
    workers: int = 1,
) -> list[Item]:
    """The chosen items, in their order; `look` gives features of pictures."""
    by_industry = divided(items)
    wanted = shares({name: len(held) for name, held in by_industry.items()}, n, an_industry)
    features = {
        name: look([one.query[0] for one in held]) if 0 < wanted[name] < len(held) else np.zeros((len(held), 1))
        for name, held in by_industry.items()
    }
    with ThreadPoolExecutor(max(1, min(workers, len(by_industry)))) as pool:
        places = pool.map(lambda name: typical(features[name], wanted[name], random_state), by_industry)
        kept = {
            by_industry[name][place].item_id for name, held in zip(by_industry, places, strict=True) for place in held
        }
    return [one for one in items if one.item_id in kept]


def divided(items: Sequence[Item]) -> dict[str, list[Item]]:
    """The items by industry, in the order of the paper, any other industries behind."""
    found = {one.factors["industry"] for one in items}
    names = [*(name for name in INDUSTRIES if name in found), *sorted(found - set(INDUSTRIES))]
    return {name: [one for one in items if one.factors["industry"] == name] for name in names}


def marked(item: Item, score: float, subjects: Sequence[str]) -> Item:
    """The item with what its choice stood on: the score, and who voted and looked."""
    return replace(
        item,
        measures={**item.measures, "judges_right": score},
        provenance={**item.provenance, "construction_subjects": list(subjects)},
    )
