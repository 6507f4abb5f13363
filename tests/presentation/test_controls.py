from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Affine, Demo, Item, Media, Option, View
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import ViewContext
from snellen.presentation.controls import IMAGES, Lettered, control, order_transforms
from snellen.presentation.presenters import apply_layout, plain
from snellen.runs.asking.views import transform_stream
from snellen.scoring.answers import read_answer
from tests.helpers.journey import item, patch


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


@pytest.fixture
def items(media: MediaFolder) -> list[Item]:
    """Twelve stimuli with two questions each; one question has images as options, both have support."""
    shared = patch(media, (9, 9, 9))
    result = []
    for n in range(12):
        query, *rest = (patch(media, (20 * n, 10 * k, 77), size=(8 + n, 6)) for k in range(5))
        support = (Demo((rest[0],), "a", 0), Demo((rest[1], shared), "b", 1))
        imaged = (Option("a", "", (rest[2],)), Option("b", "", (rest[3],)))
        worded = (Option("a", "round"), Option("b", "square"))
        for name, options in (("imaged", imaged), ("worded", worded)):
            fields = {"options": options, "support": support, "stimulus_id": str(n)}
            result.append(item(f"{n}-{name}", [query], "a", "choice", **fields))
    return result


def context_with(items: list[Item], value: str) -> ViewContext:
    (condition,) = parse_conditions([IMAGES], f"images={value}")
    return ViewContext(condition, items)


def transform_view(
    items: list[Item], item: Item, value: str, media: MediaFolder, seed: int = 0, view: View | None = None
) -> View:
    item_context = context_with(items, value)
    view = view or item.view()
    for transform in control(item_context.condition["images"], item_context):
        view = transform(view, media, transform_stream(seed, item, transform))
    return view


def swaps(before: View, after: View) -> dict[str, str]:
    pairs = list(zip(before.media(), after.media(), strict=True))
    replacements = {old.stored_sha256: new.sha256 for old, new in pairs}
    assert all(replacements[old.stored_sha256] == new.sha256 for old, new in pairs), "one image, one replacement"
    return replacements


def test_original_images_are_unchanged(items: list[Item], media: MediaFolder) -> None:
    assert transform_view(items, items[0], "original", media) == items[0].view()


def test_none_removes_only_the_images(items: list[Item], media: MediaFolder) -> None:
    before, after = items[0].view(), transform_view(items, items[0], "none", media)
    assert not list(after.media())
    assert [demo.answer for demo in after.support] == ["a", "b"]
    assert after.reply == before.reply
    assert len(after.options) == 2
    assert all(isinstance(part, str) for part in plain(after))


def test_grey_keeps_size_and_frame_but_no_origin(items: list[Item], media: MediaFolder) -> None:
    item = items[6]
    (query,) = item.query
    moved = replace(query, from_stored=Affine(c=3), origin=query.sha256)
    after = transform_view(items, item, "grey", media, view=replace(item.view(), query=(moved,)))
    (grey,) = after.query
    assert media.open(grey).convert("RGB").getcolors() == [(11 * 6, (128, 128, 128))]
    assert [(m.width, m.height) for m in after.media()] == [(m.width, m.height) for m in item.media()]
    assert grey.from_stored == Affine(c=3)
    assert grey.stored_sha256 == grey.sha256 != query.sha256
    assert len({m.sha256 for m in after.media()}) == 2, "one grey image per size: 11 x 6, and the shared 8 x 6"


def test_shuffled_never_shows_a_stimulus_its_own_images(items: list[Item], media: MediaFolder) -> None:
    for test_item in items:
        own = {m.sha256 for other in items if other.stimulus_id == test_item.stimulus_id for m in other.media()}
        after = swaps(test_item.view(), transform_view(items, test_item, "shuffled", media))
        assert not own & set(after.values())
        assert len(set(after.values())) == len(after), "different images stay different"


def test_shuffled_is_equal_for_all_questions_arms_and_transforms(items: list[Item], media: MediaFolder) -> None:
    for test_item, twin in zip(items[::2], items[1::2], strict=True):
        first, second = (swaps(x.view(), transform_view(items, x, "shuffled", media)) for x in (test_item, twin))
        common = first.keys() & second.keys()
        assert len(common) == 4
        assert {old: first[old] for old in common} == {old: second[old] for old in common}
        fewer = replace(test_item.view(), support=test_item.view().support[:1])
        assert swaps(fewer, transform_view(items, test_item, "shuffled", media, view=fewer)).items() <= first.items()
        (query,) = test_item.query
        crop = media.derive(["crop", query.sha256], lambda q=query: media.open(q).crop((0, 0, 4, 4)), query)  # type: ignore[misc]
        cropped = replace(test_item.view(), query=(crop,))
        assert swaps(cropped, transform_view(items, test_item, "shuffled", media, view=cropped)) == first


def test_shuffled_depends_on_the_seed_and_spreads(items: list[Item], media: MediaFolder) -> None:
    item = items[0]
    hashes = [transform_view(items, item, "shuffled", media, seed).query[0].sha256 for seed in range(300)]
    assert hashes == [transform_view(items, item, "shuffled", media, seed).query[0].sha256 for seed in range(300)]
    count = Counter(hashes)
    assert len(count) >= 50, "all 55 images of other stimuli are drawn"
    assert max(count.values()) < 20


def test_shuffled_with_few_or_no_others(items: list[Item], media: MediaFolder) -> None:
    assert not list(transform_view(items[:2], items[0], "shuffled", media).media()), "nothing else to show"
    lone = item("lone", [patch(media, (255, 255, 255))], "a", "choice")
    after = transform_view([*items[:2], lone], items[0], "shuffled", media)
    assert {m.sha256 for m in after.media()} == {lone.query[0].sha256}


def test_controls_are_named_in_the_card_without_their_items(items: list[Item]) -> None:
    reprs = [repr(control(value, context_with(items, value))) for value in ("none", "grey", "shuffled")]
    assert reprs == ["(Without(version=1),)", "(Grey(version=1),)", "(Shuffled(version=1),)"]


def reordered(view: View, seed: int) -> View:
    (transform,) = order_transforms("shuffled")
    return transform(view, MediaFolder(Path("nowhere")), stream("order", seed))


def test_order_shuffled_is_uniform() -> None:
    """300 draws of 3 options: each is 100 times at each position on average, with a standard deviation of 8.2."""
    options = tuple(Option(key, key) for key in "abc")
    view = item("1", [], "b", "choice", options=options).view()
    orders = [tuple(option.key for option in reordered(view, seed).options) for seed in range(300)]
    assert len(set(orders)) == 6, "all orders are drawn"
    counts = Counter((position, key) for order in orders for position, key in enumerate(order))
    assert len(counts) == 9
    assert all(65 < count < 135 for count in counts.values())
    assert order_transforms("stored") == ()


def test_order_shuffled_keeps_shots_and_the_meaning_of_letters() -> None:
    options = tuple(Option(key, f"text of {key}") for key in "abcd")
    support = tuple(Demo((), key, shot) for shot in (0, 1) for key in "abcd")
    view = item("1", [], "c", "choice", options=options, support=support).view()
    views = [reordered(view, seed) for seed in range(20)]
    for after in views:
        assert set(after.options) == set(options)
        assert [demo.shot for demo in after.support] == [0] * 4 + [1] * 4
        assert set(after.support) == set(support)
        letters = Lettered()(after, MediaFolder(Path("nowhere")), stream("letters"))
        assert read_answer("ABCD"[after.options.index(options[2])], letters.reply) == "c"
    assert len({tuple(demo.answer for demo in after.support[:4]) for after in views}) > 10


def lettered(*texts: str) -> View:
    options = tuple(Option(f"key{n}", text) for n, text in enumerate(texts))
    choice = item("1", [], "key0", "choice", options=options)
    return Lettered()(choice.view(), MediaFolder(Path("nowhere")), transform_stream(0, choice, Lettered()))


def test_letters_and_texts_are_both_answers() -> None:
    view = lettered("red cube", "blue cube", "")
    assert plain(view)[-1] == "A. red cube\nB. blue cube\nC"
    answers = {
        "B": "key1", "b": "key1", "The answer is (A).": "key0", "blue cube": "key1", "C": "key2", "A or B": None,
        "D": None,
    }  # fmt: skip
    assert {text: read_answer(text, view.reply) for text in answers} == answers
    for key in ("key0", "key1", "key2"):
        assert read_answer(view.reply.write(key), view.reply) == key
    assert view.reply.write("key1") == "B"


def test_a_letter_takes_precedence_over_an_equal_text() -> None:
    view = lettered("B", "a", "Z")
    assert [read_answer(text, view.reply) for text in ("A", "B", "C", "Z")] == ["key0", "key1", "key2", "key2"]
    assert view.reply.keys == (("A", "key0"), ("B", "key1"), ("C", "key2"), ("Z", "key2")), "a small letter is one too"


def test_more_options_than_letters_are_refused() -> None:
    assert len(lettered(*(f"option {n}" for n in range(26))).reply.offered) == 26
    with pytest.raises(SnellenError, match=r"more options \(27\) than letters"):
        lettered(*(f"option {n}" for n in range(27)))


def test_plain_shows_images_of_options_by_name(media: MediaFolder) -> None:
    red, blue, query = (patch(media, rgb) for rgb in ((255, 0, 0), (0, 0, 255), (0, 255, 0)))
    options = (Option("r", "first", (red,)), Option("b", "second", (blue,)))
    support = (Demo((red,), "r", 0), Demo((), "b", 1, "a caption"))
    view = item("1", [query], "r", "choice", options=options, support=support, question="Which?").view()
    expected: tuple[str | Media, ...] = (red, "first", "a caption", query, "Which?", "first:", red, "second:", blue)
    assert plain(view) == expected


def test_images_first_leave_their_numbers_behind() -> None:
    first, second = (Media(name * 64, "image", "png", 8, 6) for name in "12")
    parts = ("Compare", first, "with", second)
    assert apply_layout(parts, "interleaved") == parts
    assert apply_layout(parts, "images-first") == (first, second, "Compare\n[image 1]\nwith\n[image 2]")
    assert apply_layout(("Look at", first, "now"), "images-first") == (first, "Look at", "now"), "one needs no number"
