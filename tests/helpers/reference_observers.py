"""Reference observers of the thresholds whose only limit is noise: the units of the report's profile.

Such an observer knows everything of an image but the answer, gets the image with normally distributed noise of its own
in every pixel and channel, and takes the answer whose image is the most likely. Print the thresholds of
`suites.thresholds.published.REFERENCE` and the table of docs/measurements/thresholds.md:
python -m tests.helpers.reference_observers
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.core.item import Item
from snellen.core.prompt import Prompt, Reply
from snellen.core.score import MEASURED, Measurement
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.runs.scores.score import primary_score
from snellen.suites.thresholds import SUITE
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import SIDE, Stimulus
from snellen.suites.thresholds.published import NOISE, REFERENCE
from snellen.suites.thresholds.scoring import threshold
from tests.suites.thresholds.banks import asked_of, bank

EXAMS = 24

Matrix = NDArray[np.float64]


def alternatives(item: Item) -> Matrix:
    """Inner products (answers x answers) of the differences between an item's image and the image of each answer.

    Everything but the answer is drawn as in the item.
    """
    measure = MEASURES[item.task]
    images = []
    for answer in range(len(measure.answers)):
        rng = stream("thresholds", item.provenance["seed"], item.task, item.split, int(item.item_id.rpartition("-")[2]))
        stimulus = Stimulus(item.measures[measure.quantity], answer, SIDE, item.factors["variant"])
        images.append(np.asarray(measure.draw(stimulus, rng).image, np.float64).ravel())
    differences = images[measure.answers.index(item.answer)] - np.array(images)
    differences = differences[:, differences.any(0)]
    return np.asarray(differences @ differences.T, np.float64)


@dataclass(frozen=True)
class ReferenceObserver(Base):
    """Takes the answer whose image is nearest to the image with noise of a standard deviation in grey levels."""

    items: Mapping[str, Item] = field(default_factory=dict)
    products: dict[str, Matrix] = field(default_factory=dict)
    noise: float = NOISE

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        (view,) = prompt.views
        item = self.items[view.item_id]
        if view.item_id not in self.products:
            self.products[view.item_id] = alternatives(item)
        products = self.products[view.item_id]
        # |image + noise - alternative|^2, without the square of the noise, which all have in common.
        noise = rng.multivariate_normal(np.zeros(len(products)), self.noise**2 * products, check_valid="ignore")
        return Reply(MEASURES[item.task].answers[int(np.argmin(np.diag(products) + 2 * noise))])


def measured(items: ItemSet, task: str, noise: float, exams: int, products: dict[str, Matrix]) -> list[Measurement]:
    """The thresholds of a reference observer in exams with different noise, through the whole run."""
    strict, results = SUITE.tasks[task].protocols["strict"], []
    for number in range(exams):
        subject = ReferenceObserver(SubjectCard("py:reference", {"exam": number}), items.by_id, products, noise)
        with tempfile.TemporaryDirectory() as folder:
            responses = asked_of(Path(folder) / "run", items, [subject], seed=number)
        of_task = [items.by_id[response.item_id] for response in responses]
        errors = [primary_score(item, r, strict) for item, r in zip(of_task, responses, strict=True)]
        results.append(threshold(MEASURES[task], of_task, errors))
    return results


def mean_of(results: list[Measurement]) -> tuple[float, float]:
    """The geometric mean of thresholds, and the factor of its standard error."""
    logs = np.log([result.value for result in results])
    return float(np.exp(logs.mean())), float(np.exp(logs.std(ddof=1) / np.sqrt(len(logs))))


def main() -> None:
    """Print the table."""
    levels: tuple[float, ...] = (NOISE / 2, NOISE)
    print("| task | " + " | ".join(f"{noise:g} grey levels" for noise in levels) + " | ratio |\n|---|---:|---:|---:|")
    for task in REFERENCE:
        with tempfile.TemporaryDirectory() as folder:
            items, products = bank(Path(folder) / "bank", (task,)), dict[str, Matrix]()
            cells, means = list[str](), list[Any]()
            for noise in levels:
                results = measured(items, task, noise, EXAMS, products)
                mean, factor = mean_of(results)
                means.append(mean)
                beyond = sum(result.reason != MEASURED for result in results)
                cells.append(f"{mean:.3g} {MEASURES[task].unit} (x{factor:.2f})" + f", {beyond} beyond" * bool(beyond))
            print(f"| {task} | {' | '.join(cells)} | {means[1] / means[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
