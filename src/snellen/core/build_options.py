"""Options of a build: fields of `BuildOptions`, options of `snellen build` and keywords of `snellen.build`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.options import option

SIZE_PX, QUICK_SIZE_PX, CHECKUP_SIZE_PX = (640, 480), (240, 180), (320, 240)
"""Width and height of generated images: default, `--quick`, and checkup."""
MIN_SIDE_PX, MAX_SIDE_PX = 90, 4096
"""Limits of width and height of generated images."""

Settings: TypeAlias = Mapping[str, tuple[str, ...]]
"""Further settings of a recipe: name -> values, of which the first is the default."""
Balance: TypeAlias = Literal["paper", "answers"]
"""Frequencies of answers: the paper's, or uniform."""
BALANCE: Balance = "answers"
"""The default of recipes `generated`. Their cards name the balance, which tells such sets from those of the paper."""


@dataclass(frozen=True)
class BuildOptions:
    """Options of a build.

    `n` is the number of test items per task, None for the checkup size. Empty `tasks` means all. `balance` sets the
    frequencies of answers: the paper's, or uniform (`answers`), so that base rates do not help a blind guesser; None
    for the recipe's default.
    `rules` is a file of thresholds that replace the recipe's. `encoder` is the encoder whose features select images.
    `settings` are those that the recipe declares (`Recipe.settings`). `size` is width and height of generated images,
    None for the default (`size_px`). `columns` names the columns of a user's table by what they hold, for recipes that
    have `columns`; `skip_bad` leaves out rows that cannot be read. `allow_unmatched` accepts training and test
    items that differ in classes and ranges where the recipe matches them. With several `instalments`, each has `n`
    test items per task, and only the first is drawn at once (`exam.instalments`); the others have only
    `instalment_tasks`, if there are any, and are `test_only`: a recipe may leave out what is not for testing. Scores
    are planned to be looked at after `planned_looks` instalments.
    """

    out: Path = Path()
    recipe: str = option("", "generated (the default), curated, released, or another recipe of the suite.", "from")
    seed: int = option(0, "Random seed.")
    n: int | None = option(None, "Test items per task (training items are added).")
    full: bool = option(False, "Use the paper's size.")
    tasks: Sequence[str] = ()
    sources: Mapping[str, Path] = option({}, "NAME=PATH of a local dataset.", "source")
    inputs: Mapping[str, Path] = option({}, "NAME=RUN or NAME=FILE required by the recipe.", "input")
    workers: int = 1
    renderer: str = option("mitsuba", "mitsuba, or toy (flat shading, for quick tests).")
    quality: str = option("good", "Rendering quality of mitsuba: fast, good or reference.")
    quick: bool = False
    size: tuple[int, int] | None = option(None, "Size of generated images in pixels. Default: 640x480.")
    rules: Path | None = option(None, "YAML file with thresholds that replace the recipe's.")
    encoder: str = option("", "Encoder whose features select the images, e.g. hf/PATH.")
    balance: Balance | None = option(
        None, "Answer frequencies: paper, or uniform. Default: uniform for generated items, otherwise paper."
    )
    settings: Mapping[str, str] = option({}, "Recipe setting as NAME=VALUE.", "set")
    columns: Mapping[str, str] = option(
        {}, "Columns of a table: question=prompt,answer=key … (default: by name).", "map", is_list=True,
        form="FIELD=COLUMN, each field once: question=prompt,answer=key",
    )  # fmt: skip
    skip_bad: bool = option(False, "Leave out rows of a table that are bad.")
    allow_unmatched: bool = option(
        False, "Accept training items whose classes and ranges differ from those of test items."
    )
    instalments: int = option(
        1, "Declare a set of so many instalments of N test items per task; `run --until-decided` draws them.",
        "instalments", "parts", least=1, most=1000,
    )  # fmt: skip
    instalment_tasks: tuple[str, ...] = ()
    planned_looks: tuple[int, ...] = ()
    test_only: bool = False
    show_progress: bool = True

    def test_items(self, suite: str, checkup: int, quick: int) -> int:
        """Test items per task: `n`, else the suite's checkup or quick size. Raises SnellenError for less than one."""
        self.need_items(suite)
        return self.n if self.n is not None else quick if self.quick else checkup

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of generated images."""
        return self.size or (QUICK_SIZE_PX if self.quick else SIZE_PX)

    def size_notes(self) -> list[str]:
        """A note for the card if images are smaller than by default."""
        (width, height), (usual_width, usual_height) = self.size_px, SIZE_PX
        if width * height >= usual_width * usual_height:
            return []
        return [
            f"images of {width}x{height} pixels, smaller than the usual {usual_width}x{usual_height}: small things "
            "are harder to see in them"
        ]

    def setting(self, name: str, settings: Settings) -> str:
        """The value of a setting of the recipe. Raises SnellenError, with the nearest value, for an unknown one."""
        value = self.settings.get(name, settings[name][0])
        refuse_unknown([value], settings[name], f"--set {name}:")
        return value

    def changed(self, settings: Settings) -> dict[str, Any]:
        """The entry of the recipe's settings on the card: those that are not at their default."""
        values = {name: self.setting(name, settings) for name in settings}
        changed = {name: value for name, value in values.items() if value != settings[name][0]}
        return {"settings": changed} if changed else {}

    def rendering(self) -> dict[str, Any]:
        """The parameters of rendering, as kept on the card of a recipe `generated`."""
        return {
            "seed": self.seed,
            "full": self.full,
            "quick": self.quick,
            "size_px": list(self.size_px),
            "renderer": self.renderer,
            **({"quality": self.quality} if self.renderer == "mitsuba" else {}),
        }

    def refuse_others(self, location: str, tasks: Iterable[str], sources: Iterable[str]) -> None:
        """Raise SnellenError, beginning with `location`, for tasks and sources other than these, and for inputs."""
        refuse_unknown(self.tasks, tasks, f"{location}: no task")
        refuse_unknown(self.sources, sources, f"{location}: no source")
        if self.inputs:
            raise SnellenError(f"{location}: does not use --input {next(iter(self.inputs))!r}; it takes none")

    def refuse_other_settings(self, location: str, settings: Settings) -> None:
        """Raise SnellenError, naming `location`, for settings and values that are not among these."""
        for setting, value in self.settings.items():
            if not settings:
                raise SnellenError(f"--set {setting}: {location} has no settings")
            refuse_unknown([setting], settings, f"--set {setting}: {location} has no setting")
            refuse_unknown([value], settings[setting], f"--set {setting}: it cannot be")

    def need_items(self, suite: str) -> None:
        """Raise SnellenError if `n` is less than one."""
        if self.n is not None and self.n < 1:
            raise SnellenError(f"{suite}: --n {self.n} makes no items; give 1 or more")
