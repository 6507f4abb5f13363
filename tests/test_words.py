"""One word per thing: names of parameters, attributes, functions and modules, over the syntax tree.

The words and their reasons: design/core.md. Local names of the tests are checked too, those of the source in review.
"""

from __future__ import annotations

import ast
import gc
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRONOUNS_AND_PARTICIPLES = """
told held one found place mine asked shown seen kept drawn made heard said wanted taught stuff stuffs thing things
where at of
"""
FORMER_WORDS = "lesson lessons talk showing piece pieces way ways look looks likeness desk"
"""What has a standard term of the field: design/core.md."""
SAYS_NOTHING = "data info obj"
BANNED = frozenset(f"{PRONOUNS_AND_PARTICIPLES} {FORMER_WORDS} {SAYS_NOTHING}".split())
EXCEPTIONS: Mapping[str, str] = {
    "arms": "Arms as cards, with what they answered, or by the tables of their scores: a run's word for all of them.",
    "first": "The former of two alike, whatever they are; its partner is called second.",
    "right": "The later of two sides, what is right of something, or what is right: English has one word for them.",
    "series": "What a figure draws as one line, in every report.",
    "value": "What a key, an axis or a metric has.",
}
"""Names that may stay, each with its reason: banned words, and parameters of more than three unrelated types."""
TEST_EXCEPTIONS: Mapping[str, str] = {
    "data": "The name that HTMLParser and Hypothesis give to a parameter.",
}
"""Banned words that may stay in the tests, each with its reason."""
MAX_EXCEPTIONS = 15
MAX_TYPES = 3

_CONTAINERS = frozenset(
    [
        "Sequence",
        "Iterable",
        "Iterator",
        "list",
        "tuple",
        "set",
        "frozenset",
        "Set",
        "Collection",
        "AbstractSet",
        "Generator",
        "Annotated",
        "type",
        "deque",
    ]
)
_MAPPINGS = frozenset(["Mapping", "dict", "MutableMapping", "OrderedDict", "defaultdict", "Counter"])
_FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(("int", "float", "bool", "complex", "Decimal", "Box", "Rect", "Vec3", "Point"), "number"),
    **dict.fromkeys(("str", "Path", "PathLike", "Traversable", "bytes", "Literal"), "text"),
    **dict.fromkeys(("NDArray", "ndarray", "ArrayLike", "Tensor", "Floats", "Mask", "Pixels"), "array"),
    **dict.fromkeys(("DataFrame", "Series", "Table", "Row"), "table"),
    **dict.fromkeys(("Exception", "BaseException", "OSError", "ValueError"), "error"),
}
"""Types that are related, by the name of their family."""
_OPEN = frozenset(("Any", "object", "None", "T", "S", "K", "V"))
"""Annotations that say nothing of the type."""
_DEFINE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Attribute)


@dataclass(frozen=True)
class Name:
    """A definition: its name, kind, file and line, and the annotation of a parameter."""

    name: str
    kind: str
    location: str
    annotation: ast.expr | None = None


@cache
def syntax(root: Path) -> tuple[tuple[Path, tuple[ast.AST, ...]], ...]:
    """The nodes of every module under a folder (of `src`, those of packages too); parsed once for all tests."""
    gc.disable()  # what it ends may parse, too, and Python 3.11 counts both together
    try:
        paths = [*root.rglob("*.py"), *((ROOT / "packages").rglob("*.py") if root.name == "src" else ())]
        return tuple((path, tuple(ast.walk(ast.parse(path.read_text("utf-8"))))) for path in sorted(paths))
    finally:
        gc.enable()


@cache
def definitions(root: Path) -> tuple[Name, ...]:
    """Parameters, attributes, functions, classes and modules under a folder."""
    return tuple(_definitions(root))


def _definitions(root: Path) -> Iterator[Name]:
    for path, nodes in syntax(root):
        location = path.relative_to(ROOT).as_posix()
        if path.stem != "__init__":
            yield Name(path.stem, "module", location)
        for node in nodes:
            if isinstance(node, _DEFINE):
                yield from _defined_by(node, f"{location}:{getattr(node, 'lineno', 0)}")


def _defined_by(node: ast.AST, location: str) -> Iterator[Name]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        arguments = node.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for argument in parameters:
            if argument is not None and argument.arg not in ("self", "cls"):
                yield Name(argument.arg, "parameter", location, argument.annotation)
        if not isinstance(node, ast.Lambda):
            yield Name(node.name, "function", location)
    elif isinstance(node, ast.ClassDef):
        yield Name(node.name, "class", location)
        for part in node.body:
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                yield Name(part.target.id, "attribute", location)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield Name(node.attr, "attribute", location)


@cache
def local_names(root: Path) -> tuple[Name, ...]:
    """Local variables under a folder, also those of comprehensions."""
    return tuple(
        Name(node.id, "local", f"{path.relative_to(ROOT).as_posix()}:{node.lineno}")
        for path, nodes in syntax(root)
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def types_in(annotation: ast.expr | None, aliases: Mapping[str, ast.expr]) -> frozenset[str]:
    """The families of types that an annotation speaks of: of containers those inside, of mappings their values."""
    if isinstance(annotation, ast.Constant):
        if not isinstance(annotation.value, str):
            return frozenset()
        return types_in(ast.parse(annotation.value, mode="eval").body, aliases)
    if isinstance(annotation, ast.BinOp):
        return types_in(annotation.left, aliases) | types_in(annotation.right, aliases)
    if isinstance(annotation, ast.Subscript):
        head = ast.unparse(annotation.value).rpartition(".")[2]
        inside = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        if head in _CONTAINERS:
            return frozenset().union(*(types_in(part, aliases) for part in inside))
        return types_in(inside[-1], aliases) if head in _MAPPINGS else _family(head)
    if isinstance(annotation, ast.Name | ast.Attribute):
        head = ast.unparse(annotation).rpartition(".")[2]
        alias = aliases.get(head)
        # A union that has a name is one type of its own.
        return _family(head) if alias is None or isinstance(alias, ast.BinOp) else types_in(alias, aliases)
    return frozenset()


def _family(head: str) -> frozenset[str]:
    return frozenset() if head in _OPEN else frozenset([_FAMILIES.get(head, head)])


def type_aliases(root: Path) -> dict[str, ast.expr]:
    """`Name: TypeAlias = …` of all modules, so that an alias counts as what it stands for."""
    return {
        node.target.id: node.value
        for _, nodes in syntax(root)
        for node in nodes
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and ast.unparse(node.annotation) in ("TypeAlias", "typing.TypeAlias")
        and node.value is not None
    }


def unrelated(name: str, types: Iterable[str]) -> set[str]:
    """Types beside those called after the parameter: `SubjectCard` and `RunCard` are one thing as a `card`."""
    noun = name.rpartition("_")[2].removesuffix("s").replace("_", "")
    return {noun if kind.casefold().removesuffix("s").endswith(noun.casefold()) else kind for kind in types}


def test_names_are_nouns_of_what_they_hold() -> None:
    banned = sorted(
        f"{name.location} {name.kind} {name.name}"
        for names, exceptions in (
            (definitions(ROOT / "src"), EXCEPTIONS),
            (definitions(ROOT / "tests") + local_names(ROOT / "tests"), TEST_EXCEPTIONS),
        )
        for name in names
        if name.name.strip("_").casefold() in BANNED and name.name not in exceptions
    )
    assert not banned, "\n".join(banned)


def test_a_parameter_s_name_means_one_thing() -> None:
    aliases = type_aliases(ROOT / "src")
    types: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in definitions(ROOT / "src"):
        if name.kind == "parameter" and name.annotation is not None:
            for kind in types_in(name.annotation, aliases):
                types[name.name][kind].append(name.location)
    vague = [
        f"{name}: {', '.join(f'{kind} ({locations[0]})' for kind, locations in by_type.items())}"
        for name, by_type in types.items()
        if len(unrelated(name, by_type)) > MAX_TYPES and name not in EXCEPTIONS
    ]
    assert not vague, "\n".join(vague)


def test_items_are_items() -> None:
    aliases = type_aliases(ROOT / "src")
    others = [
        f"{name.location} {ast.unparse(name.annotation)}"
        for name in definitions(ROOT / "src")
        if name.name == "item" and name.kind == "parameter" and name.annotation is not None
        and not {kind for kind in types_in(name.annotation, aliases) if kind.endswith("Item")}
    ]  # fmt: skip
    assert not others, "\n".join(others)


def test_exceptions_are_few_and_needed() -> None:
    names = {name.name for name in definitions(ROOT / "src")}
    assert len(EXCEPTIONS) <= MAX_EXCEPTIONS
    assert set(EXCEPTIONS) <= names
    assert set(TEST_EXCEPTIONS) <= {name.name for name in definitions(ROOT / "tests")}
    assert all(reason.endswith(".") for reason in (*EXCEPTIONS.values(), *TEST_EXCEPTIONS.values()))


PHRASES: Mapping[str, str] = {
    r"\bhang(s|ing)? on\b": "depends on",
    r"\bhad without looking\b": "blind baseline",
    r"\b(is|are|was) had\b": "is scored, is available",
    r"\b(can(not)?|could not) be told\b(?! apart)": "is not estimable, cannot be distinguished",
    r"\breckon": "estimate",
    r"\blessons?\b": "training example",
    r"\bpictures?\b": "image",
}
"""What is not written, in strings, comments and pages, with what is written in its place."""
PHRASE_FILES: Mapping[str, str] = {
    "src/snellen/scoring/answers/": "expressions that read replies, in which models write as they like",
    "src/snellen/curated_sets/ava_bench/abilities/counting.py": "an expression reads questions of other people",
    "src/snellen/core/storage/schemas.py": "what schema 1 called images",
    "docs/data-schema.md": "what schema 1 called images",
    "docs/coverage.md": "names and questions of other benchmarks",
    "src/snellen/datasets/hub_tables.py": "names that columns of other people have",
    "design/core.md": "the table of former words",
    "tests/scoring/answer_cases.yaml": "replies as models write them",
    "tests/scoring/test_answers.py": "replies as models write them",
    "tests/test_words.py": "the phrases themselves",
}
"""Files that may hold them, and why."""
STREAM_NAMES = re.compile(r"\b(stream|seed_of)\(|picture-\{")
"""Names of random streams and ids made from them stay, so that items stay."""


def test_phrases_of_the_old_dialect_are_gone() -> None:
    tracked = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder in ("src", "packages", "tests", "docs", "design"):
        tracked += [p for p in (ROOT / folder).rglob("*") if p.suffix in {".py", ".md", ".j2", ".yaml", ".js", ".css"}]
    phrases = [(re.compile(phrase, re.IGNORECASE), better) for phrase, better in PHRASES.items()]
    odd = [
        f"{name}:{number} {line.strip()[:120]!r}: write {better!r}"
        for name, path in ((str(path.relative_to(ROOT)), path) for path in tracked)
        if "vendor/" not in name and not name.startswith(tuple(PHRASE_FILES))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for phrase, better in phrases
        if phrase.search(line) and not STREAM_NAMES.search(line)
    ]
    assert not odd, "\n".join(odd)


SHARED_CLASSES: Mapping[str, str] = {
    "Curated": "the recipe `curated` of a suite",
    "Generated": "the recipe `generated` of a suite",
    "Own": "the recipe `own` of a suite",
    "Design": "the images that a generated set of a suite needs",
    "Row": "a row of the main table of a suite's paper",
}
"""Class names that several suites have for the same thing."""


def test_a_class_name_means_one_thing() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for name in definitions(ROOT / "src"):
        if name.kind == "class" and not name.name.startswith("_"):
            modules[name.name].append(name.location)
    shared = {name: locations for name, locations in modules.items() if len(locations) > 1}
    assert len(SHARED_CLASSES) <= 10
    assert set(shared) == set(SHARED_CLASSES), {name: shared.get(name) for name in set(shared) ^ set(SHARED_CLASSES)}
    assert all(re.search("/(suites|curated_sets)/", location) for name in SHARED_CLASSES for location in shared[name])
