"""What users read of a result: lines worked by hand, on both sides of their limits, and their printed forms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import snellen_sight
from snellen_sight import asking, command
from snellen_sight.asking import NothingAsked, Sighting, stream
from snellen_sight.checks import CHECKS
from snellen_sight.checks.order import order_line, words_of
from snellen_sight.drawing import SightFile
from snellen_sight.likelihood import FINE, UNABLE, SightQuestion
from snellen_sight.lines import image_line, token_line
from snellen_sight.pages import INKS, card_of, matrix_of
from snellen_sight.pipelines import PIPELINES
from snellen_sight.resolution import SIDES, Charts, Floats, documented, resolution_line
from snellen_sight.results import SightCall, SightLine, SightResult


def question(answers: Sequence[str], *right: str, images: int = 1) -> SightQuestion:
    files = (SightFile(b"", "png", (1, 1)),) * images
    return SightQuestion("g", files, "?", tuple(answers), {FINE: tuple(frozenset({name}) for name in right)})


@pytest.mark.parametrize(
    ("logs", "replies", "verdict", "words"),
    [
        ({FINE: -9, "grey": -1}, ["red"], "fine", "an image arrives"),
        ({FINE: -9, UNABLE: -1}, ["red", "Red."], "not so", "the model always answers “red”, whatever colour"),
        ({FINE: -9, UNABLE: -1}, ["red", "blue"], "not so", "no image reaches the model"),
        ({FINE: -9, "previous": -1}, ["red", "red"], "not so", "images are mixed up: each call gets the image of the"),
        ({FINE: -9, "previous": -1, UNABLE: -2}, ["red"], "cannot tell", "whether an image arrives"),
    ],
)
def test_the_line_of_images(logs: Mapping[str, float], replies: list[str], verdict: str, words: str) -> None:
    """Any explanation but a mix-up and none counts as an image that arrives."""
    colours = question(("red", "blue"), "red")
    all_logs = {FINE: 0, "grey": -9, UNABLE: -9, "previous": -9, **logs}
    line = image_line(all_logs, [(colours, reply) for reply in replies])
    assert (line.check, line.verdict, line.text[: len(words)]) == ("image", verdict, words)


def test_tokens_are_medians_by_size_and_two_percent_more_is_more() -> None:
    def counted(largest: int) -> SightLine:
        tokens = [("chart 2048", largest), ("chart 448", 90), ("chart 448", 1000), ("chart 448", 100),
                  ("chart 1024", 0), ("colours", 7)]  # fmt: skip
        calls = [SightCall(group, "?", (), "r", "r", count) for group, count in tokens]
        return token_line(calls, {"chart 448": 448, "chart 1024": 1024, "chart 2048": 2048})

    same, more = counted(102), counted(103)
    assert (same.check, same.verdict, more.check, more.verdict) == ("tokens", "cannot tell", "tokens", "fine")
    assert "the same tokens for every size (100 at 448 px, 102 at 2048 px)" in same.text
    assert more.text == "the server counts more tokens for larger images: 100 at 448 px, 103 at 2048 px"


def test_patterns_of_images_are_told_in_words() -> None:
    assert {words_of(pattern, 4) for pattern in ((3, 2, 1, 0), (0,), (3,), (0, 2, 3), (0, 1), (1, 3, 0, 2))} == {
        "several images arrive in reverse order", "only the first of several images arrives",
        "only the last of several images arrives", "the second of 4 images does not arrive",
        "the third and fourth of 4 images do not arrive", "4 images arrive in the order 2, 4, 1, 3",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("replies", "verdict", "words"),
    [
        (["HFEC"] * 3, "fine", "up to 4 images of a call arrive in order"),
        (["HFEC"] * 2, "cannot tell", "several images: "),
        (["HFEC"] * 2 + ["HEC"] * 3, "not so", "the second of 4 images does not arrive"),
        (["HFEC"] * 3 + ["HEC"], "cannot tell", "several images: 1 of 4 lists of letters are wrong"),
        (["CEFH"] * 2, "cannot tell", "several images: 2 lists of letters are in the order of the alphabet"),
        (["CEFH", "HFEC", "HFEC", "HFEC"], "cannot tell", "several images: 1 of 4 lists of letters are wrong"),
        (["FHEC", "HFCE"], "not so", "several images arrive in an order that changes from call to call"),
        (["FHEC", "HFCE", "HFEC", "HFEC"], "cannot tell", "several images: 2 of 4 lists"),
        (["-", "?"], "cannot tell", "several images: no lists are read"),
    ],
)
def test_lists_of_letters_tell_what_becomes_of_several_images(replies: list[str], verdict: str, words: str) -> None:
    """The images sent show H, F, E and C: a list in the order of the alphabet is a habit, and no order of images."""
    line = order_line([(question("CEFHK", *"HFEC", images=4), ", ".join(reply)) for reply in replies])
    assert (line.check, line.verdict, line.text[: len(words)]) == ("several images", verdict, words)


class Known(Charts):
    """Charts whose posterior of the scale is known: shares by log10 of the scale, certain at 1,024 px."""

    is_readable = True
    smallest_gap = 2.0

    def __init__(self, shares: Mapping[float, float], gap: float = 2.0) -> None:
        self.smallest_gap, self.shares = gap, shares

    def scales(self) -> dict[int, tuple[Floats, Floats]]:
        steps: Floats = np.arange(-25, 26) * np.float64(0.04)
        certain, weights = (steps.round(2) == 0).astype(np.float64), np.zeros(51)
        for log, share in self.shares.items():
            weights[steps.round(2) == log] = share / sum(self.shares.values())
        return {SIDES[1]: (steps, certain), SIDES[2]: (steps, weights)}


@pytest.mark.parametrize(
    ("charts", "verdict", "text"),
    [
        # 10^-.12 = .7586 of 2,048 px. The ends of 95 % lie .019 from the middle of a step, and are stated 1.5 times as
        # far off: 10^-.1485 = .7104 and 10^-.0915 = .8100. 1,568 px are 10^-.116.
        (Known({-0.12: 1}), "not so", "an image of 2,048 px arrives as about 1,554 px [1,455, 1,659]; agrees with a "
         "long edge of 1,568 px (Claude)"),
        (Known({-0.16: 0.998, 0: 0.002}), "not so", "an image of 2,048 px arrives as about 1,41"),
        (Known({-0.16: 0.996, 0: 0.004}), "cannot tell", "resolution: an image of 2,048 px arrives as about 1,41"),
        (Known({0: 1}), "fine", "images of up to 2,048 px arrive in that size; agrees with no resizing up to 2,048 px"),
        (Known({0: 0.96, -0.16: 0.04}, 4.0), "fine", "images of up to"),
        (Known({0: 0.94, -0.16: 0.06}, 4.0), "cannot tell", "resolution: an image of 2,048 px arrives as "),
        (Known({0: 1}, 4.6), "cannot tell", "resolution: no size is lost up to 2,048 px, but gaps below 5 px are"),
        # 60 % at 10^-.4: the middle is 10^-.3867, the ends 10^-.4183 and 10^.0175, stated as 10^-.4342 and above 1.
        (Known({-0.4: 0.6, 0: 0.4}), "cannot tell",
         "resolution: an image of 2,048 px arrives as between 754 and 2,048 px"),
    ],
)  # fmt: skip
def test_the_line_of_resolution_states_the_size_and_how_sure_it_is(charts: Known, verdict: str, text: str) -> None:
    line = resolution_line(charts)
    assert (line.check, line.verdict, line.text[: len(text)]) == ("resolution", verdict, text)


def test_a_documented_size_is_named_if_it_is_at_most_twenty_times_less_likely() -> None:
    assert documented(Known({0: 1, -0.6: 19})) == ["no resizing up to 2,048 px"]
    assert documented(Known({0: 1, -0.6: 21})) == []
    assert documented(Known({0: 1, -0.12: 9, -0.08: 9}))[0] == "a long edge of 1,568 px (Claude)", "the likelier one"
    # Of 28-pixel patches 1,568 are a square of 1,108 px, of 32-pixel ones 1,536 are 39 x 39; none enlarges.
    assert [round(each.scale(2048) * 2048) for each in PIPELINES] == [2048, 1568, 1108, 768, 1248]
    assert {each.scale(448) for each in PIPELINES} == {1.0}


def test_checks_of_colours_say_why_they_cannot_tell() -> None:
    examination = Sighting(lambda question, number: pytest.fail("asked"), sides=(448,))
    colours = [CHECKS["colours"].draw(stream("test"), number) for number in range(6)]
    for colour_question, name in zip(colours, ("cyan", "blue", "magenta", "yellow", "red", "green"), strict=True):
        examination.calls.append((colour_question, SightCall(colour_question.group, "", (), "", name)))
    examination.declined["aspect"] = "the subject takes no such image"
    lines = {line.check: line for line in examination.lines()}
    assert list(lines) == ["image", *(check.check for check in CHECKS.values()), "pointing", "resolution", "tokens"]
    assert lines["colours"].text == "colours arrive inverted"
    inverted = [check for check, line in lines.items() if line.text.endswith(": colours arrive inverted")]
    assert inverted == ["orientation", "transparency", "crop"]
    assert lines["aspect"] == SightLine("aspect", "cannot tell", "proportions: the subject takes no such image")


RESULT = SightResult(
    "<good>", "2026-11-28T10:00:00+00:00",
    (
        SightLine("image", "fine", "an image arrives"), SightLine("crop", "not so", "the ends are cut & gone"),
        SightLine("order", "cannot tell", "several images: no reply"),
        SightLine("tokens", "cannot tell", "tokens: no reply"), SightLine("aspect", "cannot tell", "no topic"),
    ),
    calls=(SightCall("colours", "?", (), "red", "red"),) * 3,
)  # fmt: skip


def test_a_page_has_a_cell_for_each_check_of_each_model() -> None:
    page = matrix_of([RESULT, SightResult("other", "2026-11-29", (SightLine("crop", "fine", "all arrives"),))], "a<b")
    assert (
        f'<tr><th scope="row">crop</th><td><b style="color:{INKS["not so"]}">NOT SO</b><br>the ends are cut &amp; gone'
        f'</td><td><b style="color:{INKS["fine"]}">fine</b><br>all arrives</td></tr>'
    ) in page.splitlines()
    assert (page.count("<td>not asked</td>"), page.count('<th scope="row">')) == (4, 5)
    assert f"<p>a&lt;b; snellen-sight {snellen_sight.__version__}, 2026-11-28</p>" in page


def test_checks_that_cannot_tell_for_one_reason_share_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    command.print_result("a\x1b[2Jb", "2026-11-28T10:00:00+00:00", 3, RESULT.lines)
    command.print_line(SightLine("x", "fine", f"{'a' * 40} {'b' * 25} c"))
    assert capsys.readouterr().out.splitlines() == [
        "What reaches a [2Jb (2026-11-28, 3 calls)", "fine         an image arrives",
        "NOT SO       the ends are cut & gone", "cannot tell  no topic",
        "cannot tell  several images, tokens: no reply",
        f"fine         {'a' * 40} {'b' * 25}", f"{'':13}c",
    ]  # fmt: skip


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """What the command asks for. `good`, `blind` and `cut` are examined, all other models are refused."""
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def serve(*arguments: Any, **settings: Any) -> SightResult:
        calls.append((arguments, settings))
        lines = {"good": RESULT.lines[:1], "blind": RESULT.lines[2:], "cut": RESULT.lines}
        if (name := arguments[1]) not in lines:
            raise NothingAsked(f"no model {name}")
        return SightResult(name, "2026-11-28", lines[name])

    monkeypatch.setattr(command, "sight_of_server", serve)
    return calls


@pytest.mark.parametrize(
    ("models", "code"),
    [("good", 0), ("blind", 1), ("good blind", 1), ("good unknown", 2), ("blind unknown", 2), ("unknown cut good", 4)],
)
def test_the_worst_outcome_of_several_models_is_the_exit_code(
    models: str, code: int, served: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """A fault is worse than a model that cannot be asked; the others are asked all the same."""
    assert command.main(["http://here/v1", *models.split()]) == code
    assert [arguments[1] for arguments, _ in served] == models.split()
    assert capsys.readouterr().err == "snellen-sight: unknown: no model unknown\n" * ("unknown" in models)


def test_json_has_each_model_with_the_server_seed_and_version(
    served: list[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "secret")
    options = ["--json", "--seed", "7", "--quick", "--checks", "crop,,order", "--key-env", "A_KEY"]
    command.main(["http://user:secret@127.0.0.1:8000/v1", "unknown", "good", *options])
    good, unknown = json.loads(capsys.readouterr().out)
    about = {"server": "127.0.0.1:8000", "seed": 7, "version": snellen_sight.__version__}
    assert good == {**good, "model": "good", "scales": {}, "calls": [], **about}
    assert unknown == {"model": "unknown", **about, "error": "no model unknown"}
    ((*_, key), settings), _ = served
    assert (key, settings) == ("secret", {
        "quick": True, "checks": ("crop", "order"), "seed": 7, "after_call": command.show_count,
    })  # fmt: skip


def test_an_image_of_a_result_has_a_row_for_each_line_of_text_in_the_ink_of_its_verdict() -> None:
    """Margins of 24, rows of 26 and texts from 150 px: the title and a blank row, five checks of which one has two
    lines, and the server's name."""
    long = SightLine("order", "not so", "the order of images " * 5)
    result = SightResult("m" * 100, RESULT.date, (RESULT.lines[0], long, *RESULT.lines[2:]))
    pixels = np.asarray(card_of(result, "host"), int)
    assert pixels.shape == (2 * 24 + 26 * 9, 860, 3)
    rows = [pixels[24 + 26 * number : 24 + 26 * (number + 1)] for number in range(9)]
    inks = {INKS[verdict]: verdict for verdict in INKS} | {"#000000": "black", "#ffffff": ""}
    darkest = [[part.reshape(-1, 3)[part.sum(2).argmin()] for part in (row[:, 24:150], row[:, 150:])] for row in rows]
    colours = [[inks["#{:02x}{:02x}{:02x}".format(*pixel)] for pixel in pair] for pair in darkest]
    assert colours == [
        ["black", "black"], ["", ""], ["fine", "black"], ["not so", "black"], ["", "black"],
        *[["cannot tell", "black"]] * 3, ["cannot tell", "cannot tell"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--card card.jpg", "--card card.jpg: the image is a PNG file"), ("--card no/card.png", "no/card.png: no such"),
        ("--html no/page.html", "no/page.html: no such folder"), ("--checks crop,ordr", "ordr: no such check; choose"),
        ("other --card card.png", "--card shows one model; use --html"), ("--key-env NO_KEY", "NO_KEY is not set in"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_followed_are_refused_before_a_model_is_asked(
    options: str, words: str, served: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        command.main(["http://here/v1", "good", *options.split()])
    assert (stop.value.code, served) == (2, [])
    assert words in capsys.readouterr().err


def test_what_is_asked_by_default_if_little_time_is_left_and_of_chosen_checks() -> None:
    every = tuple(CHECKS.values())
    assert asking._chosen(False, ()) == (every, (448, 1024, 2048), True, 90)
    assert asking._chosen(True, ()) == ((), (448, 2048), False, 12)
    assert asking._chosen(True, ("pointing", "crop")) == ((CHECKS["crop"],), (), True, 12)
    assert asking._chosen(False, ("resolution", "order", "crop")) == (
        (CHECKS["order"], CHECKS["crop"]), (448, 1024, 2048), False, 90,
    )  # fmt: skip
