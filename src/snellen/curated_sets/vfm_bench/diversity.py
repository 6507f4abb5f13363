"""Diversity sampling: the most typical query of each cluster of images, separately for each industry (section 3.2).

The features of an encoder are divided by k-means into as many clusters as queries are wanted, and the image nearest to
the centre of each cluster is chosen. The paper uses a CLIP; here any `encoder:` subject can be used.
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
"""Queries per industry, and the seed of k-means (paper, Table 8; released code)."""
ENCODER = "efficientnet-lite0"
"""A packaged encoder: it needs no download, but is not a CLIP."""
CHUNK = 256

Floats = npt.NDArray[np.floating]


def encode_images(encoder: str, images: Sequence[Media], folder: MediaFolder, show_progress: bool) -> Floats:
    """Features of images, shape (n, d), in order; cached between builds."""
    from snellen.subjects.encoders import encode, load_encoder

    features = []
    with Progress("encoding", unit="images", visible=show_progress) as progress:
        progress.expect(len(images))
        for start in range(0, len(images), CHUNK):
            chunk = images[start : start + CHUNK]
            features.append(encode(load_encoder(encoder), chunk, folder))
            progress.advance(len(chunk))
    return np.concatenate(features)


def shares(available: Mapping[str, int], n: int | None, per_industry: int = PER_INDUSTRY) -> dict[str, int]:
    """The number of queries from each industry: `per_industry`, or an equal part of `n`; never more than it has.

    A remainder goes to the first industries. If an industry has too few, others do not compensate.
    """
    counts = dict.fromkeys(available, per_industry) if n is None else equal_shares(available, n)
    return {name: min(count, available[name]) for name, count in counts.items()}


def typical(features: Floats, clusters: int, random_state: int = RANDOM_STATE) -> list[int]:
    """The index of the image nearest to the centre of each cluster, in ascending order.

    Computed in one thread, so that the order of sums and the choice do not depend on the number of processors. Fewer
    than `clusters` if images have equal features.
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

    k-means++ (Arthur and Vassilvitskii 2007). scikit-learn draws nine candidates for each in double precision: for
    1,050 of 7,500 points this takes over ten times as long, for 1.5 % less final inertia.
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
    """The chosen items, in their order; `encode_media` returns features of images."""
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
    """The items by industry, in the order of the paper, other industries last."""
    industries = {item.factors["industry"] for item in items}
    names = [*(name for name in INDUSTRIES if name in industries), *sorted(industries - set(INDUSTRIES))]
    return {name: [item for item in items if item.factors["industry"] == name] for name in names}


def with_score(item: Item, score: float, subjects: Sequence[str]) -> Item:
    """The item with its difficulty score and the subjects that voted and encoded."""
    return replace(
        item,
        measures={**item.measures, "judges_right": score},
        provenance={**item.provenance, "construction_subjects": list(subjects)},
    )
