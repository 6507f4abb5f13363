"""Fine-grained: classes drawn by the seed, thirty images of each, names as printed in appendix A.2."""

from __future__ import annotations

from collections import Counter

from snellen.curated_sets.ava_bench.abilities.fine_grained import CURATION, KINGDOM, NOT_DRAWN, SHARED, species_name
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.datasets.sample import Annotation, Sample
from tests.curated_sets.ava_bench.selection.class_fixtures import choices, chosen, make_items, of_class, texts
from tests.curated_sets.ava_bench.selection.fixtures import curating, scene

BIRDS, NATURE, AIRCRAFT = CURATION.datasets


def birds(count: int, images: int) -> list[Sample]:
    return [sample for n in range(1, count + 1) for sample in of_class(BIRDS, f"{n:03}.Bird_{n:03}", images)]


def test_a_hundred_birds_of_thirty_images_each() -> None:
    context = curating(choices=choices())
    selected = chosen(CURATION, [*birds(102, 31), *of_class(BIRDS, "200.Rare_Bird", 29)], context)
    counts = Counter(candidate.label for candidate in selected)
    assert len(counts) == 100
    assert set(counts.values()) == {30}
    assert context.ledger.dropped == {
        ("fine-grained", BIRDS, "class of fewer than 30"): 29,
        ("fine-grained", BIRDS, NOT_DRAWN): 2 * 31,
        ("fine-grained", BIRDS, "more than 30 in a bin of a class"): 100,
    }
    other = chosen(CURATION, birds(102, 31), curating(choices=choices(), seed=1))
    assert {candidate.label for candidate in other} != set(counts)


def test_other_groups_have_fifty_classes_with_names_and_domains() -> None:
    context = curating(choices=choices())
    kingdoms = {"Animalia": "Avis", "Fungi": "Boletus", "Plantae": "Rosa"}
    scenes = [
        sample
        for kingdom, genus in kingdoms.items()
        for n in range(51)
        for sample in of_class(NATURE, f"Order {genus} sp{n:02}", 30, {"kingdom": kingdom, "class": "Aves"})
    ]
    scenes += [sample for n in range(51) for sample in of_class(AIRCRAFT, f"737-{n}00", 30)]
    selected = chosen(CURATION, scenes, context)
    classes = {
        (candidate.truth["group"], candidate.truth.get("domain", ""), candidate.truth["name"]) for candidate in selected
    }
    groups = Counter((group, domain) for group, domain, _ in classes)
    assert groups == {("animal", "Animal"): 50, ("fungi", "Fungi"): 50, ("plant", "Plant"): 50, ("aircraft", ""): 50}
    assert {name.split()[0] for group, _, name in classes if group == "animal"} == {"Avis"}
    item = next(item for item in make_items(CURATION, selected, context) if item.factors["group"] == "fungi")
    assert item.question == "What species of fungi is in the image?"
    assert len(texts(item)) == 50
    assert all(text.startswith("Boletus sp") for text in texts(item))


def test_a_bird_is_named_without_its_number_and_with_its_underscores() -> None:
    context = curating(choices=choices())
    labels = ("092.Nighthawk", "090.Red_breasted_Merganser")
    selected = chosen(CURATION, [sample for label in labels for sample in of_class(BIRDS, label, 30)], context)
    assert selected[0].truth["among"] == ("Nighthawk", "Red_breasted_Merganser")
    [item] = make_items(CURATION, selected[:1], context)
    assert item.question == "What species of bird is in the image?"


def test_classes_that_share_a_name_and_other_kingdoms_are_left_out() -> None:
    context = curating(Rules(species_images=2), choices())
    animal = {"kingdom": "Animalia"}
    scenes = [
        *of_class(NATURE, "Lepus timidus", 2, animal),
        *of_class(NATURE, "Sub Lepus timidus", 2, animal),
        *of_class(NATURE, "Canis lupus", 2, animal),
        *of_class(NATURE, "Old Canis lupus", 1, animal),  # too few to be asked about, so no name is shared
        *of_class(NATURE, "Vulpes vulpes", 2, animal),
        *of_class(NATURE, "Fuligo septica", 2, {"kingdom": "Protozoa"}),
        *of_class(NATURE, "Nobody knows", 1),
        scene(Annotation("Canis lupus", (0.0, 0.0, 9.0, 9.0), None, animal),
              Annotation("Canis lupus", None, None, animal), source=NATURE, record="two wolves"),
    ]  # fmt: skip
    selected = chosen(CURATION, scenes, context)
    assert Counter(candidate.truth["name"] for candidate in selected) == {"Canis lupus": 2, "Vulpes vulpes": 2}
    assert context.ledger.dropped == {
        ("fine-grained", NATURE, SHARED): 4,
        ("fine-grained", NATURE, "class of fewer than 2"): 1,
        ("fine-grained", NATURE, KINGDOM): 3,
        ("fine-grained", NATURE, "more than 2 in a bin of a class"): 1,
    }


def test_names_of_species_are_parts_of_their_labels() -> None:
    assert species_name("CUB-200-2011", "009.Brewer_Blackbird") == "Brewer_Blackbird"
    assert species_name("iNaturalist-2021", "Animalia Corvidae Corvus corax") == "Corvus corax"
    assert species_name("FGVC-Aircraft", "Boeing 717") == "Boeing 717"
