"""All wordings of the suite.

The paper shows its prompts only in figures (13, 22 to 26). These follow its text: system information about ComBo, the
questions, their options and explicit instructions (appendix C.2), JSON replies (E), samples in groups of ten (D.1),
4 + 4 + 1 images (D.3), and shorter prompts for weaker models (4.3.1, C.2).
"""

from __future__ import annotations

from collections.abc import Mapping

from snellen.stimuli.scenes import ANCHORS, COLOURS, MATERIALS, PIVOTS, SHAPES, text_name

PARTS = {"primary": "larger", "secondary": "smaller"}

ANCHOR_PLACES = "; ".join(
    f"on a {text_name('shape', shape)}: {', '.join(text_name('contact-point', point) for point in points)}"
    for shape, points in ANCHORS.items()
)
PIVOT_PLACES = "; ".join(
    f"of a {text_name('shape', shape)}: {', '.join(text_name('contact-point', point) for point in points)}"
    for shape, points in PIVOTS.items()
)
NO_COLOUR = "none"
NO_COLOUR_TEXT = "no added colour (glass or wood)"
ALSO: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "shape": {"frustum": ("truncated cone",)},
    "colour": {NO_COLOUR: ("no added colour", "no colour")},
}
"""Names that are accepted in addition to the one shown, by factor and value; American spellings are always accepted."""

DESCRIPTION = {
    "full": (
        "ComBo (Composite Blocks) is a set of objects, each made of two geometric primitives that touch: a larger, "
        "primary "
        "primitive and a smaller, secondary one. A primitive is a "
        f"{', '.join(text_name('shape', shape) for shape in SHAPES[:-1])} or {text_name('shape', SHAPES[-1])}. It is "
        f"made of "
        f"{', '.join(MATERIALS[:-1])} or {MATERIALS[-1]}. Rubber and metal are coloured "
        f"{', '.join(COLOURS[:-1])} or {COLOURS[-1]}; glass and wood have no added colour. The secondary primitive is "
        "attached to a contact point on the primary one."
    ),
    "short": "Each object is made of two blocks: a larger, primary one and a smaller, secondary one attached to it.",
    "minimal": "",
}

QUESTION = {
    "shape/primary": "What is the shape of the primary (larger) primitive?",
    "material/primary": "What is the material of the primary (larger) primitive?",
    "colour/primary": "What is the colour of the primary (larger) primitive?",
    "shape/secondary": "What is the shape of the secondary (smaller) primitive?",
    "material/secondary": "What is the material of the secondary (smaller) primitive?",
    "colour/secondary": "What is the colour of the secondary (smaller) primitive?",
    "contact-point/anchor": "At which point of the primary (larger) primitive is the secondary one attached?",
    "contact-point/pivot": "With which point is the secondary (smaller) primitive attached to the primary one?",
}

SHEET = {
    "full": (
        "You will see {count}. Answer every question for every sample, choosing exactly one of the options given "
        "with the "
        "question."
    ),
    "short": "You will see {count}. For every sample answer:",
    "minimal": "{count}.",
}
SHEET_FORM = {
    "full": (
        "Reply with JSON only, without any explanation: a list with one object per sample, in the order shown, in "
        'which "sample" is the number of the sample and every question has its answer. Example: {example}'
    ),
    "short": "Reply with JSON only, one object per sample. Example: {example}",
    "minimal": "JSON: {example}",
}
ONE_FORM = {
    "full": "Answer with exactly one of the options and nothing else.",
    "short": "Answer with one of the options.",
    "minimal": "Answer:",
}
DEMOS_INTRO = "First, some solved examples."

IMG2TEXT_QUESTION = "Which label best matches the object in the image?"
TEXT2IMG_QUESTION = "Which image most resembles this: {label}?"
ALIGNMENT_INTRO = {
    "full": "The image shows an abstract object made of two simple blocks. Its colour and material do not matter.",
    "short": "An abstract object made of two blocks.",
    "minimal": "",
}
ALIGNMENT_INTRO_MANY = {
    "full": "The images show abstract objects made of two simple blocks. Their colours and materials do not matter.",
    "short": "Abstract objects made of two blocks.",
    "minimal": "",
}
ALIGNMENT_FOR_PEOPLE = (
    "The object in an image is made of two blocks and stands for something. Colour and material do not matter."
)
LETTER_FORM = {
    "full": "Answer with the letter of exactly one option and nothing else.",
    "short": "Answer with one letter.",
    "minimal": "Answer:",
}

CATEGORY_QUESTION = "Does the test object belong to category A or to category B?"
CATEGORY_INTRO = {
    "full": (
        "Two abstract categories of such objects, A and B, are each defined by a rule about shape, material, colour or "
        "contact point that all their objects follow. You see four objects of category A, four objects of category "
        "B, and one test object. Work out what the objects of each category have in common, then decide which category "
        "the test object belongs to."
    ),
    "short": "Four objects of category A, four of category B, then a test object.",
    "minimal": "A, B, test.",
}
CATEGORY_FORM = {"full": "Answer with A or B and nothing else.", "short": "Answer with A or B.", "minimal": "A or B?"}
CATEGORY_FOR_PEOPLE = (
    "All objects of category A have something in common: a shape, a material, a colour, or where the two blocks touch. "
    "The same is true of category B. Look at the examples, then at the last object."
)
CATEGORY_THINK = (
    "Think step by step: describe the objects, state the rule of each category, compare the test object with both. "
    "End with "
    "one line: Answer: A or Answer: B."
)
PERCEIVE = "Describe the patterns of the object in the image. Reply with JSON only: one object with these keys:\n{keys}"
CAPTION = "Describe the object in the image: the shape, material and colour of its two parts, and where they touch."
DESCRIPTIONS = (
    "The larger block is a {primary}, the smaller one a {secondary}. The smaller one touches the {anchor} of the "
    "larger one with its {pivot}.",
    "A small {secondary} is attached to a large {primary}: its {pivot} touches the {anchor} of the {primary_shape}.",
    "This object is a {primary} with a smaller {secondary}. They touch at the {anchor} of the larger and the {pivot} "
    "of the smaller.",
)
"""Replies to `CAPTION`, for models that are trained to describe."""
PERCEIVED_INTRO = "Descriptions of the images of each category:"
PERCEIVED_TEST = "Description of the test image:"

COMPARISON_QUESTION = (
    "Each option shows two kinds of objects, with four examples of each kind in separate images. In which option are "
    "the two kinds harder to tell apart?"
)
"""Ours, after appendix C.3, which states what people had to determine but prints no wording."""
NAMING_QUESTION = (
    "The image shows an abstract object made of two simple blocks. Its colour and material do not matter. Which of "
    "these names fits it best?"
)
FITTING_QUESTION = (
    "The image shows an abstract object made of two simple blocks. Its colour and material do not matter. It is "
    "meant to represent: {name}. Does the name fit?"
)
"""Both ours: the paper does not state how its experts voted on categories."""
CHAIN_QUESTION = """\
A respondent was shown examples of two categories, A and B, and then a test object (the last image). They were asked \
to think step by step and to decide which category it belongs to. The correct answer is {answer}.

Their reply is between the lines:
----------
{reply}
----------

What is the first mistake that affects the answer?"""
"""Ours: the paper scored chains of thought by hand and shows examples (Figure 8), but not its rules."""
CHAIN_CAPTIONS = {key: f"The four objects above are the examples of category {key}." for key in "AB"}
MISTAKES = {
    "none": "no mistake: every step and the answer are correct",
    "perception": "something in an image is described incorrectly",
    "rule": "the objects are described correctly, but a wrong rule is inferred for a category",
    "application": "the rules are correct, but the test object is assigned to the wrong category",
    "format": "no category is chosen, or the reply is cut off",
}
"""The decisions of manual scoring and their meanings; ours."""
