"""Votes on natural categories: which name fits an image, then whether its own name fits (section 3.2).

The paper's experts chose categories that the objects can represent, filtered and voted until 24 were left; the paper
does not state how. Here people first name every image of `img2text`, choosing among all categories, and only then judge
its own name. Ask in the stored order.
"""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Option
from snellen.core.storage.itemset import ItemSet
from snellen.curation.results import DECISION
from snellen.curation.steps import step_item, table_provenance
from snellen.suites.combo import prompts
from snellen.suites.combo.items import SUITE
from snellen.suites.combo.questions import alignment

NONE_FITS = "none of these"
FITS, FITS_NOT = "fits", "does not fit"


def vote_items(items: ItemSet) -> list[Item]:
    """Two items per image: choosing its name among all, and judging its own name. Raises SnellenError for no image."""
    about: dict[str, list[Item]] = {}
    for item in items.task(alignment.IMG2TEXT):
        about.setdefault(item.query[0].sha256, []).append(item)
    if not about:
        raise SnellenError(f"{items.root}: no image of a natural category; build {SUITE}/{alignment.IMG2TEXT}")
    names = [category.name for category in alignment.natural_categories().categories]
    naming, fitting = [], []
    for n, of_image in enumerate(about.values()):
        naming.append(_item(f"name-{n:03d}", n, prompts.NAMING_QUESTION, (*names, NONE_FITS), of_image, items))
        question = prompts.FITTING_QUESTION.format(name=of_image[0].answer)
        fitting.append(_item(f"fit-{n:03d}", n, question, (FITS, FITS_NOT), of_image, items))
    return [*naming, *fitting]


def _item(item_id: str, n: int, question: str, words: Sequence[str], of_image: Sequence[Item], items: ItemSet) -> Item:
    (image,) = of_image[0].query
    ids = [item.item_id for item in of_image]
    provenance = table_provenance(items, ids, image.sha256) | {"category": str(of_image[0].answer)}
    options, stimulus = tuple(map(Option, words)), f"natural-{n:03d}"
    return step_item(DECISION, item_id, question, (image,), "choice", stimulus, options=options, provenance=provenance)
