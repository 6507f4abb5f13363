"""Snellen: an eye exam for vision-language models, vision encoders and people.

    snellen.examine(subject, "combo")    ask a subject: a name, a callable from texts and images to text, or a list
    snellen.run(subjects, "items")       the same with all options of `snellen run`
    snellen.open("run")                  open a run or an item set
    snellen.judge("run", subject)        let a subject judge descriptions
    snellen.encoder(function, "mine")    a subject made of a function from images to vectors
    snellen.build("combo", "items")      build an item set
    snellen.sight(subject)               what of an image reaches a subject
    snellen.compare(first, second)       what got better or worse, on the same items
    await snellen.aexamine(…)            `examine` where an event loop runs, which it leaves free

`examine` returns an `Examination`: `grades()`, `results()`, `results_by_factor()`, `items`, `plot()`, `report()`.
"""

import typing

from snellen.core.lazy import lazy_names

if typing.TYPE_CHECKING:
    from snellen.core.errors import SnellenError as SnellenError
    from snellen.exam.build import build as build
    from snellen.exam.checkpoints import checkpoint_exam as checkpoint_exam
    from snellen.exam.checkpoints import exam_callback as exam_callback
    from snellen.exam.examination import Examination as Examination
    from snellen.exam.examination import open as open
    from snellen.exam.examine import aexamine as aexamine
    from snellen.exam.examine import examine as examine
    from snellen.exam.examine import run as run
    from snellen.exam.judge import judge as judge
    from snellen.exam.sight import sight as sight
    from snellen.interop.log_files import compare as compare
    from snellen.subjects.encoders.from_function import encoder as encoder

    __version__: str

__all__ = [
    "Examination", "SnellenError", "__version__", "aexamine", "build", "checkpoint_exam", "compare", "encoder",
    "exam_callback", "examine", "judge", "open", "run", "sight",
]  # fmt: skip
ENTRY_POINTS = {
    "snellen.commands": {"sources": "snellen.curated_sets.commands:app", "tower": "snellen.towers.commands.tower:app"},
    "snellen.explorers": {"explorer": "snellen.web.explorer:explorer_writer"},
    "snellen.readouts": {"attentive": "snellen.towers.probes.subject:attentive_probe"},
    "snellen.recipes": {
        "ava-bench/curated": "snellen.curated_sets.ava_bench.recipe:Curated",
        "ava-bench/own": "snellen.curated_sets.ava_bench.own.recipe:Own",
        "combo/curated": "snellen.curated_sets.combo.recipe:Curated",
        "vfm-bench/curated": "snellen.curated_sets.vfm_bench.recipe:Curated",
        "vlm2-bench/curated": "snellen.curated_sets.vlm2_bench.recipe:Curated",
    },
    "snellen.subjects": {
        "detector": "snellen.curated_sets.construction_models.factory:make_detector",
        "head": "snellen.towers.heads.subject:make_head",
        "logprob": "snellen.curated_sets.construction_models.factory:make_logprob",
        "recorded": "snellen.interop.recorded_answers:make_recorded",
        "tower": "snellen.towers.heads.probed_tower:make_probed_tower",
    },
}
"""Those of this package in `pyproject.toml`, by group: installed metadata of a checkout may be older."""


_lazy_name = lazy_names(
    __name__,
    {
        "Examination": "snellen.exam.examination",
        "SnellenError": "snellen.core.errors",
        "aexamine": "snellen.exam.examine",
        "build": "snellen.exam.build",
        "compare": "snellen.interop.log_files",
        "encoder": "snellen.subjects.encoders.from_function",
        "checkpoint_exam": "snellen.exam.checkpoints",
        "exam_callback": "snellen.exam.checkpoints",
        "examine": "snellen.exam.examine",
        "judge": "snellen.exam.judge",
        "open": "snellen.exam.examination",
        "run": "snellen.exam.examine",
        "sight": "snellen.exam.sight",
    },
)


def __getattr__(name: str) -> typing.Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("snellen")
    return _lazy_name(name)


def __dir__() -> list[str]:
    return __all__
