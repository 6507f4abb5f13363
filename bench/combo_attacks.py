"""ComBo without looking, and by looking at pixels alone: `python bench/combo_attacks.py`, many seeds, tables printed.

Words: who picks among the labels that are no COCO names, who ranks labels by how often they were right where offered,
who knows the shape and names its commonest contact point. Pixels (`--objects N`: so many objects are rendered at
160 x 120): nearest of two means of four examples, by colours, brightness, gradients and an encoder, over the pairs of
many sets; pairs with fewer than five rendered objects a category are left out.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.seeds import stream
from snellen.core.storage.home import home
from snellen.stimuli.render import RenderSettings, render_images
from snellen.stimuli.scenes import ANCHORS, all_composites
from snellen.subjects.encoders import load_encoder
from snellen.suites.combo.difficulty import LEVELS, packaged_features, separation
from snellen.suites.combo.generated.make_features import SIZE_PX
from snellen.suites.combo.generated.objects import object_spec
from snellen.suites.combo.questions.alignment import DISTRACTORS, label_distractors, names_for, natural_categories
from snellen.suites.combo.questions.categories import DIFFERENCES, SHOTS, Pair, choose_pairs

Floats = NDArray[np.float64]
ITEMS = 480
ENCODERS = ("colour-histogram", "hog", "efficientnet-lite0")
COMPONENTS = 64
"""Principal components kept, as in the features that are packaged."""


def label_sets(setting: str, seed: int) -> list[tuple[str, list[str]]]:
    """The right label and all four of `ITEMS` questions."""
    names = names_for(ITEMS, seed, "img2text")
    return [
        (name, [name, *label_distractors(name, stream("attack", setting, seed, n), setting)])
        for n, name in enumerate(names)
    ]


def words(seeds: int) -> Iterator[str]:
    """Img2Text by labels alone, contact points by shape alone; mean over seeds and its standard deviation."""
    coco = {*natural_categories().coco_names, *(entry.name for entry in natural_categories().coco_plausible)}
    yield "| Img2Text, labels alone (chance 25) | no COCO name | by frequency |\n|---|---|---|"
    for setting in DISTRACTORS:
        rights, offered = Counter[str](), Counter[str]()
        for seed in range(1000, 1010):
            for name, labels in label_sets(setting, seed):
                rights[name] += 1
                offered.update(labels)
        rule, frequency = [], []
        for seed in range(seeds):
            questions = label_sets(setting, seed)
            kept = [[label for label in labels if label not in coco] for _, labels in questions]
            rule.append(np.mean([1 / len(labels) for labels in kept]))
            best = [max(sorted(labels), key=lambda label: rights[label] / offered[label]) for _, labels in questions]
            frequency.append(np.mean([guess == name for guess, (name, _) in zip(best, questions, strict=True)]))
        yield f"| {setting} | {spread(rule)} | {spread(frequency)} |"
    yield f"\nContact point, commonest of the shape (chance 40): {spread([by_shape(seed) for seed in range(seeds)])}"


def by_shape(seed: int) -> float:
    """Share of 1,000 objects, spheres left out, whose anchor is the commonest of its shape among 1,000 others."""
    blocks = [b for b in all_composites() if len(ANCHORS[b.primary.shape]) > 1]
    order = stream("attack", "anchors", seed).permutation(len(blocks))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for k in order[:1000]:
        counts[blocks[k].primary.shape][blocks[k].anchor] += 1
    tested = [blocks[k] for k in order[1000:2000]]
    return float(np.mean([counts[b.primary.shape].most_common(1)[0][0] == b.anchor for b in tested]))


def spread(shares: Sequence[float]) -> str:
    """Mean in percent, and the standard deviation over seeds."""
    return f"{100 * np.mean(shares):.1f} (± {100 * np.std(shares):.1f})"


def features_of(names: Sequence[str], indices: Sequence[int]) -> dict[str, Floats]:
    """Features by reader, shape (9504, d), zero for objects that are not rendered; those of the package are of all."""
    specs = [object_spec(index, 0, 0, SIZE_PX) for index in indices]
    paths = render_images(specs, RenderSettings(quality="good"), home() / "renders")
    images = [Image.open(path).convert("RGB") for path in paths]
    pixels = [np.asarray(image, float).reshape(-1, 3) for image in images]
    rows = {"brightness and its spread": np.array([[*p.mean(axis=0), *p.std(axis=0)] for p in pixels])}
    for name in names:
        encoder = load_encoder(name)
        batches = [encoder.features(images[n : n + 32]) for n in range(0, len(images), 32)]
        rows[name] = np.concatenate([np.asarray(batch, float) for batch in batches])
    packaged = packaged_features()
    features = {packaged.encoder: packaged.values}
    for name, part in rows.items():
        left, sizes, _ = np.linalg.svd(part - part.mean(axis=0), full_matrices=False)
        features[name] = np.zeros((len(all_composites()), len(sizes[:COMPONENTS])))
        features[name][list(indices)] = (left * sizes)[:, :COMPONENTS]
    return features


def prototype_scores(features: Floats, pair: Pair, rendered: NDArray[np.bool_], rng: np.random.Generator) -> list[bool]:
    """Whether either test object lies nearer the mean of four examples of its own category; 10 draws."""
    scores = []
    groups = [np.flatnonzero(rule.mask() & rendered) for rule in (pair.first, pair.second)]
    for _ in range(10):
        first, second = (features[rng.choice(group, SHOTS + 1, replace=False)] for group in groups)
        means = first[:SHOTS].mean(axis=0), second[:SHOTS].mean(axis=0)
        for test, own, other in ((first[SHOTS], *means), (second[SHOTS], *means[::-1])):
            scores.append(bool(np.linalg.norm(test - own) < np.linalg.norm(test - other)))
    return scores


def pixels(seeds: int, objects: int) -> Iterator[str]:
    """Category Building by pixels; which differences the levels depend on; agreement of encoders' distances by rank."""
    from scipy.stats import spearmanr
    from threadpoolctl import threadpool_limits

    indices = [int(k) for k in stream("agreement subset").permutation(len(all_composites()))[:objects]]
    rendered = np.zeros(len(all_composites()), bool)
    rendered[indices] = True
    with threadpool_limits(1):
        drawn = [pair for seed in range(seeds) for pair in choose_pairs(50, seed, packaged_features())]
        yield f"\n{len(drawn)} pairs of {seeds} sets with N = 100; which differences stand at which level:\n"
        yield f"| | {' | '.join(DIFFERENCES)} |\n|---|{'---|' * len(DIFFERENCES)}"
        cells = Counter((pair.level, pair.difference) for pair in drawn)
        yield from (f"| {a} | {' | '.join(str(cells[a, b]) for b in DIFFERENCES)} |" for a in LEVELS)
        pairs = [
            pair
            for pair in drawn
            if min((pair.first.mask() & rendered).sum(), (pair.second.mask() & rendered).sum()) > SHOTS
        ]
        features = features_of(ENCODERS, indices)
        heads = (*LEVELS, *DIFFERENCES, "all")
        yield f"\n{len(pairs)} pairs of which five objects a category are rendered, percent right, chance 50:\n"
        yield f"| | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}"
        for name, values in features.items():
            rng, by_head = stream("attack", name), defaultdict[str, list[bool]](list)
            for pair in pairs:
                scores = prototype_scores(values, pair, rendered, rng)
                for head in (pair.level, pair.difference, "all"):
                    by_head[head] += scores
            yield f"| {name} | {' | '.join(f'{100 * np.mean(by_head[head]):.0f}' for head in heads)} |"
        large = [p for p in pairs if min((p.first.mask() & rendered).sum(), (p.second.mask() & rendered).sum()) >= 24]
        yield f"\nRank correlation of distances over {len(large)} pairs with 24 rendered objects a category or more:\n"
        distances = {"packaged, all objects": [pair.distance for pair in large]}
        for name, values in features.items():
            own = [(pair.first.mask() & rendered, pair.second.mask() & rendered) for pair in large]
            distances[f"{name}, {objects} objects"] = [separation(values, *masks) for masks in own]
        for name, values in list(distances.items())[1:]:
            yield f"- {name}: {spearmanr(values, distances['packaged, all objects']).statistic:.2f}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--objects", type=int, default=600, help="0: words alone")
    options = parser.parse_args()
    for line in words(options.seeds):
        print(line, flush=True)
    for line in pixels(options.seeds, options.objects) if options.objects else ():
        print(line, flush=True)


if __name__ == "__main__":
    main()
