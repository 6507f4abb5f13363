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
from snellen.suites.vfm_bench.items import INDUSTRIES

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


def shares(held: Mapping[str, int], n: int | None, an_industry: int = AN_INDUSTRY) -> dict[str, int]:
    """How many queries each industry gives: `an_industry`, or an equal part of `n`; never more than it has.

    What does not divide goes to the first ones. What an industry lacks is not made up for by another.
    """
    wanted = dict.fromkeys(held, an_industry)
    if n is not None:
        whole, rest = divmod(n, len(held))
        wanted = {name: whole + (place < rest) for place, name in enumerate(held)}
    return {name: min(count, held[name]) for name, count in wanted.items()}


def typical(features: Floats, clusters: int, random_state: int = RANDOM_STATE) -> list[int]:
    """The place of the picture nearest to the centre of each of so many clusters, in order of places.

    One processor, so that sums come in one order and the choice is the same however many there are. Centres begin as
    k-means++ (one trial a centre: scikit-learn's five to nine take twice the time for 1.3 % less inertia). Fewer places
    where pictures look the same to the encoder.
    """
    if clusters >= len(features):
        return list(range(len(features)))
    if clusters < 1:
        return []
    from sklearn.cluster import KMeans, kmeans_plusplus
    from threadpoolctl import threadpool_limits

    points = np.asarray(features, np.float64)
    distinct = np.unique(points, axis=0, return_index=True)[1]
    if clusters >= len(distinct):
        return sorted(int(place) for place in distinct)
    with threadpool_limits(1):
        centres, _ = kmeans_plusplus(points, clusters, random_state=random_state, n_local_trials=1)
        found = KMeans(clusters, init=centres, n_init=1, random_state=random_state).fit(points)
        apart = np.square(points - found.cluster_centers_[found.labels_]).sum(axis=1)
    order = np.lexsort((apart, found.labels_))
    first = np.unique(found.labels_[order], return_index=True)[1]
    return sorted(int(place) for place in order[first])


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
