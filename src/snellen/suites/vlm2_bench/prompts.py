"""All wordings of VLM2-Bench. Table numbers are those of the first preprint; `design/vlm2-bench.md` lists ours.

The released files contain their wordings, which are shown letter for letter; these templates are for items made here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

COMPARE_OBJECTS = "The {obj}s in these images are {negation}the same {obj}."
COMPARE_PEOPLE = "The individuals in these images are {negation}the same person."
COMPARE = (
    "Judge the following statement based on the images: '{statement}' Provide only one correct answer: 'T' (True) or "
    "'F' (False). Respond with either 'T' or 'F'."
)
"""Tables 6 and 10."""

COUNT_OBJECTS = "How many different {obj}s are there in the input images?"
COUNT_PEOPLE = "How many distinct individuals are in the input images?"
COUNT = (
    "Answer the following question according to this rule: You only need to provide *ONE* correct numerical answer. "
    "For example, if you think the answer is '1', your response should only be '1'. The Question is: {question}"
)
"""Tables 7 and 11."""

GROUP_OBJECTS = "Which images show the same {obj} in the input images?"
GROUP_PEOPLE = "Which images correspond to the same person in the input images?"
GROUP = (
    "Answer the following question based on this rule: You only need to provide *ONE* correct answer, selecting from "
    "the options listed below. For example, if you think the correct answer is 'B) 1 and 2', your response should be "
    "'B) 1 and 2'. The Question is: {question}"
)
"""Table 8."""
GROUP_OF_PEOPLE = (
    "Answer the following question according to this rule: You only need to provide *ONE* correct answer, selecting "
    "from the options listed below. For example, if you think the correct answer is 'B) 2 and 3', your response should "
    "only be 'B) 2 and 3'. The Question is: {question}"
)
"""Table 12."""
CHOICES = "Choices: {choices}."

DESCRIBE_PEOPLE = (
    "Give a comprehensive description of the whole video, prioritizing details about the individuals in the video."
)
"""Table 13."""
DESCRIBE_OBJECTS = (
    "Give a comprehensive description of the whole video, prioritizing details about the objects in the video."
)
"""Ours: Table 13 with objects instead of individuals."""

SHORT: Mapping[str, str] = {
    "true_false": "Answer T or F.",
    "integer": "Answer with one number.",
    "choice": "Answer with one letter.",
}
"""By kind of answer, replacing the paper's rules at `prompt=short`. Ours."""

CUE = "Is the answer '{cue}' correct for the given question: '{question}'"
"""The statement of Mat and Trk, as in the released records."""
FORM_OF_CUE = "Provide only one correct answer: 'T' (True) or 'F' (False). Respond with either 'T' or 'F'."
"""Follows `CUE`, which states no form of answer; wording of Table 6."""
MATCH: Mapping[str, str] = {
    "add": "What new element can be observed in the second image that was not present in the first?",
    "remove": "What object that was present in the first image is no longer visible in the second?",
    "swap": "What object in the first image was replaced by another one in the second?",
    "attribute": "What object changed its look from the first image to the second?",
    "environment": "What part of the surroundings changed from the first image to the second?",
}
"""Questions of Mat by kind of edit: `add` of Table 3, `remove` of an example in the paper; the others are ours."""
TRACK = "What key visual difference can be observed from the first image to the second image?"
"""The question of Trk (Table 4)."""

SCREEN_EDIT = """\
You are shown an image and the same image after an edit. This instruction is meant to describe the edit:
{instruction}
Correct the instruction if necessary. Then judge the corrected instruction:
- correct: it states what actually changed from the first image to the second.
- unique: it applies only to the object that changed, and to nothing else in the images.
- clear: it can be understood in only one way.
Also state the kind of edit: add (an object was added), remove (an object was removed), swap (an object was replaced \
by another), attribute (an object looks different), environment (the surroundings changed).
Reply with one JSON object and nothing else:
{{"correct": true, "unique": true, "clear": true, "instruction": "...", "edit": "add"}}"""
"""Ours, with the paper's three criteria (section 2.1), which people applied."""
CAPTION = "Describe this image in detail."
"""Ours: the paper does not print its request for captions."""
DESCRIPTION = "Image 1: {first}\nImage 2: {second}"
DETECTED = "\nObjects detected in image {number}: {things}."
"""Ours: the Description of Tables 3 and 4, made from captions and detected things."""
LOOK_ALIKE = "Which of the examples is most similar to this image? Answer with its name."
"""Ours: the paper compares CLIP embeddings, for which no words are needed."""

SALIENCE_CONTEXT = (
    "Supposed you are looking at two images:\nImage 1: {first}\nImage 2: {second}\n"
    "From Image 1 to Image 2, the change can be summarized as: "
)
"""Table 2, up to the edit prompt."""

PAIR_FOR_MAT = """\
#Task Description
Given the change between the first image and the second image, you need to generate four choices to the question \
"{question}". Remember, the choices' lengths should be similar. Additionally, your response should start with \
"Choices:".
#Pair Design
In these two choices, you need to contain *only* the names of objects, but be specific:
1. Correct Answer (You need to infer the *only* from the Editing Information)
2. Distractor (You need to pick a random object *only* in the Description, but differ from the correct answer object)
#In-context example
Editing Information: Add a katana held in the figure's left hand, angled downwards.
Description: The image depicts a person dressed in traditional Japanese armor, standing in a misty, snowy landscape. \
The armor is detailed and appears to be made of metal, with various straps and buckles. The person is wearing a black \
mask that covers their entire face, adding to the mysterious and stealthy appearance. The background features stone \
lanterns and other traditional Japanese structures, which are partially obscured by the mist. The overall atmosphere \
is serene yet somewhat eerie, with the mist adding a sense of mystery and isolation. The scene suggests a historical \
or fantasy setting, possibly a samurai or ninja in a snowy, misty environment.
Choices:
Correct Answer: katana held
Distractor: black mask
#Task
Editing Information: {edit}
Description: {description}"""
"""Table 3; the question varies with the kind of edit."""

PAIR_FOR_TRK = """\
#Task Description
Given the change between the first image and the second image, you need to generate four choices to the question "What \
key visual difference can be observed from the first image to the second image?". Remember, the choices' lengths \
should be similar. Additionally, your response should start with "Choices:" and must contain Correct Answer and Direct \
Reverse Answer.
#Pair Design
In the two choices, you need to contain:
1. Correct Answer (You need to infer from the Editing Information)
2. Direct Reverse Answer (You need to infer from the Editing Information and change it to the opposite)
#In-context example
Editing Information: Swap the black ninja gloves with clean white gloves appropriate for serving.
Description: The image depicts a person dressed in formal attire, standing in a doorway. The individual is wearing a \
black tuxedo with a white dress shirt and a black bow tie. They are holding a tray with several items on it. The tray \
contains a small glass container, a bottle, and a small white object, possibly a salt shaker or a similar item. The \
person is also wearing black gloves, which are typical for serving or formal dining scenarios. The background shows a \
wooden door with a brass hinge and a light-colored wall. The setting appears to be indoors, possibly in a house or a \
formal establishment.
Choices:
Correct Answer: The black ninja gloves were replaced with clean white gloves.
Direct Reverse Answer: The clean white gloves were replaced with black ninja gloves.
#Task
Editing Information: {edit}
Description: {description}"""
"""Table 4."""

JUDGE_TWO_PARTS = """\
#Task
You are evaluating a model's ability to accurately distinguish between two different {things}, P and Q, who appear \
sequentially in a video (first P, then Q). Given a description, your task is to determine if the model explicitly \
identifies that the first {thing} (P) and the second {thing} (Q) are different {things}.
#Return Format
You only need return a number after "Score:". If you think the model correctly identifies that the two appearances \
belong to different {things}, return "Score: 1". If you think the model fails to explicitly state that there are two \
different {things}, return "Score: 0".
#Description
{description}"""
"""Table 14 (P, then Q)."""

JUDGE_THREE_PARTS = """\
#Task
You are evaluating a model's ability to accurately distinguish between two different {things}, P and Q, who appear \
sequentially in a video following an PQP pattern (first P, then Q, then P again). Given a description, your task is to \
determine whether the model explicitly identifies that: (1) P and Q are different {things}, and (2) The {thing} in the \
final scene is the same as the first (P).
#Return Format
You only need return a number after "Score:".
(1) If the model correctly describes that the video follows an PQP sequence, explicitly recognizing that the first and \
last appearances belong to the same {thing} (P), while the middle appearance is a different {thing} (Q), return \
"Score: 2".
(2) If the model correctly identifies that there are two different {things} in the video (P and Q) but does not \
explicitly mention that the last scene returns to P, return "Score: 1".
(3) If the model fails to recognize that two different {things} appear (e.g., treats all appearances as the same \
{thing} or does not distinguish between P and Q), return "Score: 0".
#Description
{description}"""
"""Table 15 (P, then Q, then P again)."""
JUDGED_NOUNS: Mapping[str, Mapping[str, str]] = {
    "pc-vid": {"thing": "person", "things": "individuals"},
    "oc-vid": {"thing": "object", "things": "objects"},
}
"""Nouns for the content of a video in requests to a judge, by task."""

COT = (
    "Let's think 'step by step' to answer this question, you need to output the thinking process of how you get the "
    "answer."
)
"""Table 16."""

COT_SPECIAL = """\
Use the following 4 steps to answer the question:
Step 1. Understand the Question
- Identify the question's purpose.
- Check for any format requirements.
Step 2. Perceive (List Elements)
- List every details in each image respectively.
- Note positions and attributes of elements.
Step 3. Connect (Compare & Reason)
- Compare corresponding elements in each image.
- List all the unchanged elements and the changed element.
Step 4. Conclude (Answer the Question)"""
"""Table 17."""

VP_GRID = """\
Here's the instruction you need to strictly follow to approach this question:
Two images are provided, each overlaid with a grid of dots arranged in a matrix with dimensions {rows} by {columns}. \
Each dot on this grid is assigned a unique set of three-dimensional coordinates labeled as (t, x, y). The first \
coordinate, "t" distinguishes the two images—"1" for the first image, "2" for the second. The remaining coordinates, \
"x" and "y," specify each dot's location, where within any column x increases from top to bottom, and within any row y \
increases from left to right.
This labeling system is intended to help you identify, reference, connect, and compare objects across both images. \
Now, use the following 4 steps to answer the question.
Step 1. Understand the Question
- Identify the question's purpose.
- Check for any format requirements.
Step 2. Perceive (List Elements and coordinates)
- For all the objects in the 'Options' of the question, identify them in each image separately, double check their \
existence. If the object exists then output its nearest coordinates.
- Output format like 'Image1: apple at coordinates (1, 2, 3)... Image2: banana at coordinates (2, 4, 5)'
Step 3. Connect (Compare & Reason)
- Use the grid coordinates to connect objects across the two images, observing any similarities or differences at the \
same (x, y) positions.
Step 4. Conclude (Answer the Question)
- If a specific output format is required (e.g., "MY_ANSWER: ..."), follow it exactly.
Include the transparent thinking process in your answer, and make sure you output the final *ONE* answer after \
'MY_ANSWER:', just like 'MY_ANSWER: D'"""
"""Figure 9, with the numbers of rows and columns instead of h and w."""

_STATEMENT = re.compile(
    r"^Judge the following statement based on the images: ['‘](?P<core>.*)['’] Provide only one correct answer", re.S
)
_QUESTION = re.compile(r"The Question is: (?P<core>.*)$", re.S | re.I)


def core(question: str) -> str:
    """The question without the rules around it; the whole wording if it is not one of the templates."""
    match = _STATEMENT.search(question) or _QUESTION.search(question)
    return match["core"].strip() if match else question.removesuffix(FORM_OF_CUE).strip()


_CUE = re.compile(r"^Is the answer '(?P<cue>.*)' correct for the given question: '(?P<question>.*)'$", re.S)


def for_people(question: str) -> str:
    """The question for people: without rules for the reply, and a cue as a statement about the images. Ours."""
    bare = core(question)
    match = _CUE.search(bare)
    if match is None:
        return bare
    return f"{match['question']} Suggested answer: {match['cue'].rstrip('.')}. Is it true or false?"
