"""Diversity sampling: the most typical queries of so many clusters of images, industry by industry (section 3.2).

An encoder looks at the queries, k-means with as many clusters as queries are wanted divides them, and of every cluster
the image nearest to its centre is chosen. The paper's encoder is a CLIP; ours is any that `encoder:` can name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from snellen.compute import Progress
from snellen.core.item import Item, Media
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.curation.draws import equal_shares
from snellen.suites.vfm_bench.items import INDUSTRIES, STREAMS, SUITE

PER_INDUSTRY, RANDOM_STATE = 1050, 42
"""Queries of an industry, and the seed of k-means (paper, Table 8; released code)."""
ENCODER = "efficientnet-lite0"
"""The encoder that is packaged: no download, but no CLIP."""
CHUNK = 256

Floats = npt.NDArray[np.floating]


def encode_images(encoder: str, images: Sequence[Media], folder: MediaFolder, show_progress: bool) -> Floats:
    """Features of images, shape (n, d), in their order; kept from one build to the next by the encoder's layer."""
    from snellen.subjects.encoders import encode, load_encoder

    features = []
    with Progress("looking", unit="images", visible=show_progress) as progress:
        progress.expect(len(images))
        for start in range(0, len(images), CHUNK):
            chunk = images[start : start + CHUNK]
            features.append(encode(load_encoder(encoder), chunk, folder))
            progress.advance(len(chunk))
    return np.concatenate(features)


def shares(available: Mapping[str, int], n: int | None, per_industry: int = PER_INDUSTRY) -> dict[str, int]:
    """How many queries each industry gives: `per_industry`, or an equal part of `n`; never more than it has.

    What does not divide goes to the first ones. What an industry lacks is not made up for by another.
    """
    counts = dict.fromkeys(available, per_industry) if n is None else equal_shares(available, n)
    return {name: min(count, available[name]) for name, count in counts.items()}


def typical(features: Floats, clusters: int, random_state: int = RANDOM_STATE) -> list[int]:
    """The index of the image nearest to the centre of each of so many clusters, in ascending order.

    On one processor, so that sums come in one order and the choice is the same however many there are. Fewer
    where images look the same to the encoder.
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
        return sorted(int(index) for index in distinct)
    with threadpool_limits(1):
        first = points[first_centres(points, clusters, stream(SUITE, STREAMS, "k-means", random_state))]
        clustering = KMeans(len(first), init=first, n_init=1, random_state=random_state).fit(points)
        distances = np.square(points - clustering.cluster_centers_[clustering.labels_]).sum(axis=1)
    # Sorted by cluster, then by distance from its centre: the first of each cluster is the nearest.
    order = np.lexsort((distances, clustering.labels_))
    nearest = np.unique(clustering.labels_[order], return_index=True)[1]
    return sorted(int(index) for index in order[nearest])


def first_centres(points: npt.NDArray[np.float32], count: int, rng: np.random.Generator) -> list[int]:
    """Indices of `count` different points, each drawn in proportion to its squared distance from those before it.

    k-means++ (Arthur and Vassilvitskii 2007). scikit-learn draws nine candidates for each and computes with double
    precision: at 1,050 of 7,500 points over ten times the time, for 1.5 % less inertia in the end.
    """
    squares = np.square(points).sum(axis=1)
    centres = [int(rng.integers(len(points)))]
    distances = np.full(len(points), np.inf, np.float32)
    while len(centres) < count:
        last = centres[-1]
        np.minimum(distances, np.maximum(squares + squares[last] - 2 * (points @ points[last]), 0), out=distances)
        distances[last] = 0
        sums = np.cumsum(distances, dtype=np.float64)
        if not sums[-1]:
            break
        centres.append(int(np.searchsorted(sums, rng.random() * sums[-1], side="right")))
    return centres


def choose(
    items: Sequence[Item],
    encode_media: Callable[[Sequence[Media]], Floats],
    n: int | None,
    per_industry: int = PER_INDUSTRY,
    random_state: int = RANDOM_STATE,
    workers: int = 1,
) -> list[Item]:
    """The chosen items, in their order; `encode_media` gives features of images."""
    groups = by_industry(items)
    counts = shares({name: len(group) for name, group in groups.items()}, n, per_industry)
    features = {
        name: encode_media([item.query[0] for item in group])
        if 0 < counts[name] < len(group)
        else np.zeros((len(group), 1))
        for name, group in groups.items()
    }
    with ThreadPoolExecutor(max(1, min(workers, len(groups)))) as pool:
        indices = pool.map(lambda name: typical(features[name], counts[name], random_state), groups)
        chosen = {
            groups[name][index].item_id for name, of_group in zip(groups, indices, strict=True) for index in of_group
        }
    return [item for item in items if item.item_id in chosen]


def by_industry(items: Sequence[Item]) -> dict[str, list[Item]]:
    """The items by industry, in the order of the paper, any other industries behind."""
    industries = {item.factors["industry"] for item in items}
    names = [*(name for name in INDUSTRIES if name in industries), *sorted(industries - set(INDUSTRIES))]
    return {name: [item for item in items if item.factors["industry"] == name] for name in names}


def with_score(item: Item, score: float, subjects: Sequence[str]) -> Item:
    """The item with what its choice stood on: the score, and the subjects that voted and encoded."""
    return replace(
        item,
        measures={**item.measures, "judges_right": score},
        provenance={**item.provenance, "construction_subjects": list(subjects)},
    )
