"""The reviewed files follow the paper and map labels to options; mistakes are reported by file and row."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.curated_sets.ava_bench.selection.choice_files import FILES
from snellen.curated_sets.ava_bench.selection.choices import Choices, plural_of, read_choices
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.datasets.formats.named_files import ORIENTATIONS as SIDES
from snellen.suites.ava_bench.items import EMOTIONS, ORIENTATIONS

SOURCES = ("Objects365", "LVIS", "iNaturalist-2021", "DIOR")
DIOR = {
    *("airplane", "airport", "baseballfield", "basketballcourt", "bridge", "chimney", "dam", "Expressway-Service-area"),
    *("Expressway-toll-station", "golffield", "groundtrackfield", "harbor", "overpass", "ship", "stadium"),
    *("storagetank", "tenniscourt", "trainstation", "vehicle", "windmill"),
}


@pytest.fixture(scope="module")
def choices() -> Choices:
    return read_choices()


def test_seventy_things_have_distinct_names(choices: Choices) -> None:
    chosen = [(source, label, category) for source in SOURCES for label, category in choices.categories(source).items()]
    assert Counter((source, category.domain) for source, _, category in chosen) == {
        ("Objects365", "Open"): 20, ("LVIS", "Open"): 20, ("iNaturalist-2021", "Bird"): 10,
        ("iNaturalist-2021", "Animal"): 10, ("DIOR", "Remote-Sensing"): 10,
    }  # fmt: skip
    assert len({category.name for *_, category in chosen}) == 70
    assert {(source, label) for source, label, category in chosen if category.origin == "paper"} == {
        ("Objects365", "Bicycle"), ("DIOR", "airport"), ("iNaturalist-2021", "Turdus migratorius"),
        ("iNaturalist-2021", "Buteo jamaicensis"), ("iNaturalist-2021", "Vulpes vulpes"),
    }  # fmt: skip
    assert set(choices.categories("DIOR")) <= DIOR
    assert choices.categories("LVIS")["train_(railroad_vehicle)"].name == "train"


def test_names_fit_the_alphabet_that_the_paper_prints(choices: Choices) -> None:
    names = sorted(category.name for source in SOURCES for category in choices.categories(source).values())
    assert names[:2] == ["airport", "american robin"]
    assert names[-1] < "vulpes vulpes"


def test_a_substitute_dataset_has_the_categories_of_the_original(choices: Choices) -> None:
    assert choices.categories("iNaturalist-2017") == choices.categories("iNaturalist-2021") != {}


def test_every_face_label_is_one_of_seven_emotions(choices: Choices) -> None:
    for source in ("RAF-DB", "ExpW"):
        reader: Any = DATASETS.get(source).reader
        assert {choices.emotion(source, label) for label in reader.labels.values()} == set(EMOTIONS)
        assert len(reader.labels) == len(EMOTIONS)
    assert choices.emotion("RAF-DB", "happiness") == "happy"
    assert choices.emotion("ExpW", "contempt") is None


def test_orientation_words_cover_the_nine_and_only_top_is_from_one_dataset(choices: Choices) -> None:
    eight = {word: choices.orientation("EgoOrientBench", word) for word in ORIENTATIONS if word != "top"}
    assert eight == {word: word for word in eight}
    assert {choices.orientation("CURE-OR", word) for word in SIDES} == {"front", "left", "back", "right", "top"}
    assert choices.orientation("EgoOrientBench", "top") is None


def test_only_things_of_cure_or_are_named_by_the_user(choices: Choices) -> None:
    assert choices.takes("EgoOrientBench", {})
    assert choices.oriented_thing("CURE-OR", "001") is None
    assert choices.oriented_thing("EgoOrientBench", "toy_bus") == "toy bus"


@pytest.mark.parametrize(
    ("source", "label", "name"),
    [
        ("Places434", "entrance_hall", "Entrance hall"), ("Places434", "mountain_snowy", "Snowy Mountain"),
        ("Places434", "arena/hockey", "Hockey arena"), ("Places434", "church/indoor", "Indoor church"),
        ("Places434", "jacuzzi/indoor", "Indoor hot tub"), ("Places434", "hot_tub/indoor", "Indoor hot tub"),
        ("Places434", "hot_tub/outdoor", "Outdoor hot tub"), ("Places434", "airport_terminal", "Airport terminal"),
        ("AID", "Airport", "Airport"), ("AID", "BareLand", "Bare land"), ("AID", "Beach", "Beach"),
        ("Places434", "beach", "Beach"), ("AID", "Parking", "Parking lot"),
        ("Places434", "parking_lot", "Parking lot"),
    ],
)  # fmt: skip
def test_names_of_scenes(choices: Choices, source: str, label: str, name: str) -> None:
    assert choices.scene(source, label) == name


def test_actions_of_one_meaning_have_one_name(choices: Choices) -> None:
    names = {
        label: choices.action(label) for label in ("adult+male+speaking", "talking", "playing+music", "applauding")
    }
    assert names == {
        "adult+male+speaking": "speaking",
        "talking": "speaking",
        "playing+music": "playing music",
        "applauding": "clapping",
    }
    assert choices.action("bulldozing") == "bulldozing"


def test_textures_are_pooled_so_that_each_has_enough_images(choices: Choices) -> None:
    assert {choices.texture("Kylberg", f"stone{n}") for n in "123"} == {"stone"}
    assert choices.texture("Kylberg", "stoneslab1") == "stone slab"
    assert choices.texture("Kylberg", "oatmeal1") == "oatmeal"
    assert choices.texture("DTD", "polka-dotted") == "polka-dotted"
    for source in ("KTH-TIPS", "KTH-TIPS2-b"):
        assert choices.texture(source, "aluminium_foil") == "aluminum foil"
        assert choices.texture(source, "brown_bread") == "brown bread"
        assert choices.texture_pool(source) == "KTH-TIPS"
    assert choices.texture("KTH-TIPS", "sandpaper") is None
    assert choices.texture("KTH-TIPS2-b", "wood") == "wood"
    assert choices.texture_pool("DTD") == "DTD"
    assert choices.discarded("DTD") == frozenset()


def test_indoor_labels_of_the_paper_are_not_excluded(choices: Choices) -> None:
    assert {"wall", "floor", "ceiling"} <= set(choices.nyu_excluded)
    assert not {"cabinet", "sink", "towel"} & set(choices.nyu_excluded)
    assert choices.nyu_excluded["wall"] == "named by A.2"


def test_groups_of_three_hundred_species(choices: Choices) -> None:
    rules = Rules()
    assert rules.species_birds + (len(choices.groups()) - 1) * rules.species_others == 300
    birds, fungi = choices.group("CUB-200-2011"), choices.group("iNaturalist-2021", "Fungi")
    assert birds is not None
    assert birds.group == "bird"
    assert fungi is not None
    assert fungi.group == "fungi"
    assert choices.group("iNaturalist-2021", "Chromista") is None


@pytest.mark.parametrize(
    ("label", "plural"),
    [
        ("apple", "apples"), ("bus_(vehicle)", "buses"), ("bat_(animal)", "bats"), ("aerosol_can", "aerosol cans"),
        ("cherry", "cherries"), ("key", "keys"), ("watch", "watches"), ("person", "people"),
        ("steak_knife", "steak knives"), ("sheep", "sheep"), ("black_sheep", "black sheep"),
        ("mouse_(computer_equipment)", "computer mice"), ("sweet_potato", "sweet potatoes"), ("banjo", "banjos"),
        ("scissors", "pairs of scissors"), ("safety_goggles", "pairs of safety goggles"),
        ("Christmas_tree", "Christmas trees"), ("car", "cars"),
    ],
)  # fmt: skip
def test_plurals(label: str, plural: str) -> None:
    assert plural_of(label) == plural


def test_counted_labels_and_their_plurals(choices: Choices) -> None:
    assert choices.plural("FSC-147", "sea shells") == "sea shells"
    assert choices.plural("CrowdHuman", "person") == "people"
    assert choices.counted("LVIS", "banana")
    assert not choices.counted("LVIS", "orange_juice")
    assert choices.counted("FSC-147", "orange_juice")


NAMED = "names:\n- {source: AID, labels: [Pond], name: Pool, reason: a test}\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "scenes.yaml",
            NAMED.replace("a test", "''"),
            r"scenes\.yaml: names, row 1 \(AID Pond\): reason: .*at least 1",
        ),
        ("scenes.yaml", NAMED.replace("name:", "nom:"), r"row 1 \(AID Pond\): name: Field required"),
        ("scenes.yaml", NAMED.replace("}", ", why: x}"), r"row 1 \(AID Pond\): why: Extra inputs"),
        ("scenes.yaml", NAMED + NAMED[7:], r"names, AID Pond: duplicate row"),
        ("scenes.yaml", NAMED.replace("AID", "AIDS"), r"names, AIDS Pond: no dataset 'AIDS'.*AID"),
        ("scenes.yaml", NAMED.replace("}", ", state: proposed}"), r"row 1 \(AID Pond\) is only proposed; confirm it"),
        ("scenes.yaml", "names: [", r"scenes\.yaml: not YAML"),
        ("scenes.yaml", "- 1", r"scenes\.yaml: .*; the files of the package show the form"),
        ("scenes.yaml", "things: []", r"scenes\.yaml: things: Extra inputs"),
        ("scenes.yaml", "names:\n- 7\n", r"names, row 1 \(7\)"),
        (
            "emotions.yaml",
            NAMED.replace("AID", "ExpW").replace("Pool", "hapy"),
            r"ExpW Pond: 'hapy' is not an option.*happy",
        ),
        ("scene.yaml", NAMED, r"scene\.yaml: not the name of a choices file.*scenes\.yaml"),
        (
            "things.yaml",
            "extends: true\nthings:\n"
            "- {source: LVIS, domain: Open, label: kite, name: bicycle, from: ours, reason: a}\n",
            r"things\.yaml: things, Objects365 Bicycle and LVIS kite: both are called 'bicycle'",
        ),
    ],
)
def test_a_mistake_is_reported_by_file_and_row(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SnellenError, match=message):
        read_choices(tmp_path)


def test_a_folder_without_choices_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match=r"none: no such folder of choices; it holds .*things\.yaml"):
        read_choices(tmp_path / "none")
    with pytest.raises(SnellenError, match=r"no choices file; give the folder with one or more of .*things\.yaml"):
        read_choices(tmp_path)


def test_a_file_of_the_user_replaces_or_extends_the_packaged_one(tmp_path: Path, choices: Choices) -> None:
    (tmp_path / "scenes.yaml").write_text(NAMED)
    replaced = read_choices(tmp_path)
    assert (replaced.scene("AID", "Pond"), replaced.scene("AID", "Parking")) == ("Pool", "Parking")
    (tmp_path / "scenes.yaml").write_text(f"extends: true\n{NAMED.replace('[Pond]', '[Pond, Parking]')}")
    extended = read_choices(tmp_path)
    assert (extended.scene("AID", "Pond"), extended.scene("AID", "Parking")) == ("Pool", "Pool")
    assert extended.scene("AID", "Industrial") == "Industrial area"
    assert extended.categories("LVIS") == choices.categories("LVIS")
    assert len({choices.hash, replaced.hash, extended.hash}) == 3


def test_things_of_cure_or_and_images_to_discard_are_given_by_the_user(tmp_path: Path) -> None:
    (tmp_path / "orientations.yaml").write_text(
        "extends: true\nthings:\n- {source: CURE-OR, labels: ['001'], name: toy plane, reason: looked}\n"
    )
    (tmp_path / "textures.yaml").write_text(
        "extends: true\ndiscarded:\n- {source: DTD, image: dtd/images/a.jpg, reason: a fence in a garden}\n"
    )
    user_choices = read_choices(tmp_path)
    assert user_choices.oriented_thing("CURE-OR", "001") == "toy plane"
    assert user_choices.orientation("CURE-OR", "top") == "top"
    assert user_choices.discarded("DTD") == {"dtd/images/a.jpg"}
    assert user_choices.discarded("Kylberg") == frozenset()


def test_every_packaged_file_of_choices_is_read() -> None:
    folder = files("snellen.curated_sets.ava_bench.selection").joinpath("choices")
    assert {path.name for path in folder.iterdir()} == set(FILES)
