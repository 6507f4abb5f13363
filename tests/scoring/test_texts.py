"""Texts in OCR replies: wrappers are removed, and a text itself is never changed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from snellen.core.item import ReplySpec
from snellen.scoring.answers import read_answer
from snellen.scoring.answers.texts import key_forms, read_text, unwrap
from snellen.scoring.metrics import anls

SPEC = ReplySpec("text")


def template(pattern: str) -> Callable[[str], str]:
    """The function that puts a text in place of every `@`."""
    return lambda text: pattern.replace("@", text)


CLOSED = (
    '"@"', "“@”", "‘@’", "'@'", "«@»", "« @ »", "„@“", "»@«", "「@」", "『@』", "**@**", "*@*",
    "***@***", "_@_", "__@__", "`@`",
    '"@".', '**"@"**', '"**@**"', "```\n@\n```", "```text\n@\n```", "<answer>@</answer>", "<text>@</text>",
    "<OCR>\n@\n</OCR>", "I looked closely.\n<answer>@</answer>", "<|begin_of_box|>@<|end_of_box|>", r"\boxed{@}",
    r"$\boxed{\text{@}}$", r"\text{@}", 'The text in the red bounding box reads "@".',
    'The text in the red bounding box is "@".', "The text in the **red bounding box** reads **@**.",
    "The text in the red bounding box is:\n\n**@**", 'It says: "@"', 'It says "@".', "The word is **@**.",
    "The word is `@`.", 'The text reads: "@".', 'I can see the word "@" in the box.',
    "I can see the word ‘@’ in the box.", '"@" is written in the red bounding box.',
    'The red bounding box contains the word "@".', 'It appears to say "@".',
    'The text "@" is written in the box. The word "@" is in capitals.',
    'I can\'t read it well, but it looks like "@".', "**Final Answer:** **@**", 'Answer: "@"', "Der Text lautet „@“.",
    "In dem roten Kasten steht „@“.", "Le texte est « @ ».", "Il est écrit « @ ».", 'El texto dice "@".',
    'La palabra es "@".', "Il testo è «@».", 'C\'è scritto "@".', 'O texto diz "@".', 'A palavra é "@".', "文字是“@”。",
    "图中红框内写着“@”", "「@」と書かれています。", "画像には「@」と書かれています。", '텍스트는 "@"입니다.',
    '상자 안에 "@"라고 쓰여 있습니다.', "Текст: «@».",
    "На табличке написано «@».", '<think>Perhaps "A" or "B"?</think>The text reads "@".',
)  # fmt: skip
"""Wrappers with an end of their own."""
OPEN = (
    "Text: @", "Answer: @", "OCR: @", "**Text:** @", "**Answer**: @", "Final answer: @", "The answer is: @",
    "It says: @", "It says: @.", "The text in the red bounding box is: @",
    "The text in the **red bounding box** is: @", "The sign says @", "The sign says @.",
    "The word in the box reads @.", "In the red bounding box, the text says @.",
    "Looking at the image, I can see the text in the box.\n\nThe letters are: @\n\nAnswer: @",
)  # fmt: skip
"""Wrappers that end with the line."""
OBJECTS: tuple[Callable[[str], str], ...] = (
    lambda text: json.dumps({"text": text}, ensure_ascii=False),
    lambda text: json.dumps({"answer": text, "confidence": 0.98}, ensure_ascii=False),
    lambda text: json.dumps([{"bbox_2d": [1, 2, 3, 4], "text_content": text}], ensure_ascii=False),
    lambda text: f"```json\n{json.dumps({'text': text}, ensure_ascii=False, indent=1)}\n```",
    lambda text: f"The text is: {json.dumps({'text': text}, ensure_ascii=False)}",
)
WRAPPERS = (*(template(pattern) for pattern in (*CLOSED, *OPEN)), *OBJECTS)
BARE = (
    "STOP", "Exit", "No entry", "NO TEXTING", "no smoking", "I can't stop", "I can't see you",
    "Can't read my poker face", "I can't help falling in love", "There is no planet B", "It is too late", "small",
    "The word is", "It says", "READS", "Text", "Text:", "Answer", "Answer:", "THE SIGN READS", "Open: 9-5",
    "Mon-Fri: 9:00-17:00", "CALL OR TEXT: 555", '"', "'", "*", "**", "***", "___", "5*", "``", "...", "A.", "U.S.A.",
    "50%", "$5.00", "C++", "http://x.com", "a.b", "snake_case_name", "{x}", "{}", "[1]", "<b>", "<b>X</b", r"$\pi$",
    '12" PIZZA', 'JOE\'S "BEST" PIZZA', "ROCK 'N' ROLL", 'THE "WORD" SHOP', "‘tis", "The text is written in red.",
    "I can see a red box.",
)  # fmt: skip
"""Texts that are no wrappers, however much they look like them."""
WRAPPED_KEYS = ("Answer: B", '"SALE"', "*NEW*", "The sign says STOP", "__init__", "<text>A</text>")
SEVERAL = (
    'The text reads "STOP" and "GO".', '"STOP" or "STEP"', 'It could be "STOP" or "STEP".', "**STOP** and **GO**",
    '{"text": "A", "answer": "B"}', "<answer>A</answer> <answer>B</answer>", "Text: A\nText: B",
    "The sign says STOP. It is red.",
)  # fmt: skip
REFUSALS = (
    "I can't read it.", "I can’t read it", "I cannot read the text.", "I'm unable to read the text in the image.",
    "I'm sorry, but I can't see any text in the red bounding box.", "Sorry, I can't assist with that.",
    "The image is too blurry to read.", "The text in the red bounding box is too small to read.", "It's illegible.",
    "The text is not legible.", "The text is unclear.", "There is no text in the red bounding box.",
    "There is no text.", "There's no visible text in the image.", "No text", "No text is visible in the red box.",
    "unreadable", "[unreadable]", "**unreadable**", "<answer>unreadable</answer>", '{"text": ""}',
    "Answer: I can't read it.", "It is not readable.", "The image does not contain any text.",
    "I can't make out what it says, but it is red.", "I don't see any text.",
    "<think>STOP?</think>I cannot determine the text.", "", "<think>STOP",
)  # fmt: skip


@st.composite
def truths(draw: st.DrawFn) -> str:
    """One to three words with digits and punctuation, as on signs."""
    word = st.from_regex(r"[A-Za-z0-9ÄÖÜßéñ]{1,10}(?:[-'&/.][A-Za-z0-9]{1,4})?", fullmatch=True)
    words = draw(st.lists(word, min_size=1, max_size=3))
    return " ".join(words) + draw(st.sampled_from(("", "", "", "!", "?", "%", ")")))


@given(truths())
@example("The word is")
@example("It says")
@example("Text")
@example("Answer")
@example("READS")
@example("50%")
@example("NO ENTRY")
@example("Open: 9-5")
@example("I can't stop")
@example("C#")
def test_every_wrapper_around_a_text_is_removed(truth: str) -> None:
    if unwrap(truth) != truth or truth[-2:-1] in ("", " ", ".", "-", "'", "&", "/"):
        return  # a full stop after a single letter is that of the letter
    for wrap in WRAPPERS:
        assert read_text(wrap(truth), SPEC) == truth, wrap(truth)


@pytest.mark.parametrize("truth", ["A.", "U.S.A.", "{x}", "<b>", "STOP!", "St. Mary", "What?", "J. R. Ewing"])
def test_punctuation_of_the_text_stays(truth: str) -> None:
    for pattern in CLOSED:
        assert read_text(template(pattern)(truth), SPEC) == truth, pattern
    for wrap in OBJECTS:
        assert read_text(wrap(truth), SPEC) == truth


@pytest.mark.parametrize("truth", ["A.", "U.S.A.", "{x}", "<b>", "STOP!"])
def test_punctuation_of_a_text_without_quotes_stays(truth: str) -> None:
    for pattern in OPEN:
        assert read_text(template(pattern)(truth), SPEC) == truth, pattern


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ('The text reads "STOP."', "STOP"),  # the full stop of the sentence is within the quotes
        ('The text reads "STOP.".', "STOP."),
        ('"STOP."', "STOP."),
        ('It says "U.S.A."', "U.S.A."),
        ("It says: STOP.", "STOP"),
        ("The answer is STOP.", "STOP"),
        ("The plate stands on a table. The answer is STOP.", "STOP"),
        ("I see a plate with letters. It says STOP", "STOP"),
        ("I looked twice. Comparing both, I would say the answer is STOP.", "STOP"),
        ("So, the answer is U.S.A.", "U.S.A."),
        ("My answer would be STOP ALL WAY.", "STOP ALL WAY"),
        ("THE ANSWER IS LOVE", "THE ANSWER IS LOVE"),  # a sign
        ("Text: STOP.", "STOP."),  # a label is no sentence
        ("It says: Wait...", "Wait..."),
        (r"\boxed{50\%}", "50%"),
        ('{"text": "12\\" PIZZA"}', '12" PIZZA'),
        ("Text:\nSTOP\nALL WAY", "STOP\nALL WAY"),
        ("Answer: STOP\n\nThe word is in white capitals.", "STOP"),
        ('The sign says "I can\'t read".', "I can't read"),
        ('The text is "unreadable".', "unreadable"),
    ],
)
def test_texts_in_replies(reply: str, text: str) -> None:
    assert read_text(reply, SPEC) == text


@pytest.mark.parametrize("text", BARE)
def test_a_bare_text_stays_as_it_is(text: str) -> None:
    assert unwrap(text) == text
    assert read_text(f"<think>Well.</think> {text}\n", SPEC) == text


@pytest.mark.parametrize("reply", SEVERAL)
def test_a_reply_with_several_texts_stays_as_it_is(reply: str) -> None:
    assert read_text(reply, SPEC) == reply


@pytest.mark.parametrize("reply", REFUSALS)
def test_a_refusal_is_no_text(reply: str) -> None:
    assert read_text(reply, SPEC) is None


@given(truths() | st.sampled_from((*BARE, *WRAPPED_KEYS)) | st.text(min_size=1, max_size=30))
def test_a_written_key_is_read_as_the_key_or_without_its_wrapper(key: str) -> None:
    """An oracle is always right, also about a sign that looks like a wrapper."""
    prediction = read_text(SPEC.write(key), SPEC)
    if prediction is not None:
        assert max(anls(form, prediction) for form in key_forms(key)) == 1
    if key in BARE:
        assert prediction == key


@pytest.mark.parametrize("key", WRAPPED_KEYS)
def test_what_looks_like_a_wrapper_is_one(key: str) -> None:
    inner = unwrap(key)
    assert inner != key
    assert key_forms(key) == {key, inner}
    for reply in (key, inner, f'The text reads "{inner}".', json.dumps({"text": key})):
        assert max(anls(form, read_text(reply or "", SPEC) or "") for form in key_forms(key)) == 1


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from((*"\"'*_`<>{}:“”「」\n .", "text", "The text", " is ", "says"))).map("".join)
)
def test_any_reply_is_read(reply: str) -> None:
    text = unwrap(reply)
    assert text is None or text == text.strip()


@pytest.mark.parametrize(
    "part",
    ['"', "**", "*a", "'a ", "text is ", r"\boxed{", "<answer>", '"text": "', "`a", "“a", "a:\n", "_a ", "```\n", " "],
)
def test_time_is_bounded(part: str) -> None:
    for reply in (part * 8_000, f"The text in the box {part * 2_000}"):
        start = time.process_time()
        unwrap(reply)
        assert time.process_time() - start < 2  # milliseconds, where time is linear


def test_other_texts_stay_as_replied() -> None:
    """Names, captions and what people type in a curation step are not unwrapped."""
    read = partial(read_answer, spec=SPEC)
    assert [read(text) for text in ('"X"', "Answer: B", "I can't read it")] == ['"X"', "Answer: B", "I can't read it"]
    assert read_answer('The text reads "X".', ReplySpec("description")) == 'The text reads "X".'
