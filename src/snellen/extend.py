"""What suites, subjects and sections of reports of other packages are made of; `examples/landolt` is such a package.

from snellen.extend import Item, OneByOne, Suite, Task, strict, write_itemset
"""

from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.build_options import BuildOptions
from snellen.core.condition import Axis, Condition
from snellen.core.errors import CallFailed
from snellen.core.item import Demo, Item, Media, Option, Part, ReplySpec, Split, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.score import Metric, Protocol
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, Subject, SubjectCard
from snellen.core.suite import Method, Recipe, Suite, SuiteCard, Task, Transform, ViewContext, read_suite_card
from snellen.presentation.controls import IMAGES, ORDER, control, order_transforms
from snellen.presentation.methods import OneByOne
from snellen.presentation.presenters import plain
from snellen.scoring.answers import read_answer
from snellen.scoring.protocols import strict
from snellen.subjects.registry import make_subject

__all__ = [
    "IMAGES", "ORDER", "Axis", "Base", "BuildOptions", "CallFailed", "Condition", "Demo", "Item", "ItemSet", "Media",
    "MediaFolder", "Method", "Metric", "OneByOne", "Option", "Part", "Prompt", "Protocol", "Recipe", "Reply",
    "ReplySpec", "ReportSection", "Run", "Split", "Subject", "SubjectCard", "Suite", "SuiteCard", "Task", "Transform",
    "View", "ViewContext", "control", "make_subject", "order_transforms", "plain", "read_answer", "read_suite_card",
    "refuse_existing", "stream", "strict", "write_itemset",
]  # fmt: skip
