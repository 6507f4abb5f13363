"""Log-probabilities of a continuation, from a tiny random model and from a simulated server."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import CallFailed
from snellen.core.item import Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject
from snellen.scoring.answers import read_answer
from snellen.subjects.registry import make_subject
from tests.contracts.subject_battery import check_subject
from tests.helpers.journey import patch
from tests.helpers.refusals import assert_refused
from tests.helpers.stub_server import Answer, Body, ServedRequest, Status, StubServer

NEED = "needs the extra 'models'"
CONTEXT, EDIT = "a red cup stands left of a green cup. edit:", " make the red cup blue"
WORDS = ["a", "red", "cup", "stands", "left", "of", "green", "edit", "make", "the", "blue", ".", ":"]


def view_of(context: str = CONTEXT, continuation: str = EDIT, item_id: str = "one") -> View:
    spec = ReplySpec("number", ((continuation, "continuation"),))
    return View(item_id, item_id, "salient", context, (), spec, (Option("continuation", continuation),))


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def ask(subject: Subject, *views: View) -> Reply:
    prompt = Prompt((), views)
    assert subject.declines(prompt) is None
    return asyncio.run(subject.answer(prompt, MediaFolder(Path("nowhere")), stream("logprob")))


def llama(folder: Path, begins: bool, seed: int = 0) -> Path:
    """A tiny random Llama. Its tokenizer knows some words; with `begins` every text starts with a special token."""
    transformers, torch = (pytest.importorskip(name, reason=NEED) for name in ("transformers", "torch"))
    import tokenizers

    vocabulary = {word: n for n, word in enumerate(["<s>", "<unk>", *WORDS])}
    raw: Any = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if begins:
        raw.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", unk_token="<unk>")
    fast.save_pretrained(folder)
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=32, bos_token_id=0, eos_token_id=None, initializer_range=0.4,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def loaded(folder: Path) -> tuple[Any, Any]:
    import transformers

    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(folder)


def equation_1(folder: Path, context: str, continuation: str) -> list[float]:
    """The terms token by token, each from a pass over everything before it."""
    import torch

    model, tokenizer = loaded(folder)
    tokens, terms = tokenizer.encode(context), []
    for token in tokenizer.encode(continuation, add_special_tokens=False):
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits
        terms.append(float(torch.log(torch.softmax(logits[0, -1].double(), -1))[token]))
        tokens = [*tokens, token]
    return terms


def algorithm_1(folder: Path, context: str, continuation: str) -> float:
    """The score by the paper's pseudocode, line by line."""
    import torch

    model, tokenizer = loaded(folder)
    in_tokens = tokenizer.encode(context)
    out_tokens = tokenizer.encode(continuation)
    log_sum, tokens = 0.0, in_tokens
    for i in range(1, len(out_tokens)):
        with torch.no_grad():
            outputs = model(torch.tensor([tokens]))
        probs = torch.log_softmax(outputs.logits[0, -1, :], -1)
        log_sum += float(probs[out_tokens[i]])
        tokens = [*tokens, out_tokens[i]]
    return log_sum / len(out_tokens)


@pytest.mark.parametrize("begins", [True, False])
@pytest.mark.parametrize("context", [CONTEXT, "left"])
def test_scores_follow_equation_1_token_by_token(tmp_path: Path, begins: bool, context: str) -> None:
    folder = llama(tmp_path, begins)
    reply = ask(make_subject(f"logprob:hf/{folder}"), view_of(context))
    terms = equation_1(folder, context, EDIT)
    assert len(reply.numbers) == len(terms) == 5
    assert reply.numbers == pytest.approx(terms, abs=1e-5)
    assert float(reply.text) == pytest.approx(sum(terms) / 5, abs=1e-5)
    assert len(reply.text.partition(".")[2]) == 6
    assert read_answer(reply.text, view_of(context).reply) == float(reply.text)
    assert reply.tokens_in == begins + 5 + (12 if context == CONTEXT else 1)
    assert max(terms) - min(terms) > 0.5, "a model with equal probabilities would show nothing"


@pytest.mark.parametrize("begins", [True, False])
def test_paper_off_by_one_follows_algorithm_1_line_by_line(tmp_path: Path, begins: bool) -> None:
    folder = llama(tmp_path, begins)
    usual = ask(make_subject(f"logprob:hf/{folder}"), view_of())
    paper = ask(make_subject(f"logprob:hf/{folder}?paper_off_by_one=1"), view_of())
    assert float(paper.text) == pytest.approx(algorithm_1(folder, CONTEXT, EDIT), abs=1e-5)
    assert float(paper.text) == pytest.approx(sum(paper.numbers) / (6 if begins else 5), abs=1e-6)
    assert abs(float(paper.text) - float(usual.text)) > 0.05
    if begins:  # the special token is left out: the same terms, divided by one more
        assert paper.numbers == pytest.approx(usual.numbers, abs=1e-5)
        assert float(paper.text) == pytest.approx(float(usual.text) * 5 / 6, abs=1e-5)
    else:  # the first word is neither scored nor read
        assert len(paper.numbers) == 4
        assert paper.numbers == pytest.approx(equation_1(folder, CONTEXT, EDIT.removeprefix(" make")), abs=1e-5)


def test_a_single_token_has_no_term_with_paper_off_by_one(tmp_path: Path) -> None:
    reply = ask(make_subject(f"logprob:hf/{llama(tmp_path, False)}?paper_off_by_one=1"), view_of(continuation="blue"))
    assert (reply.text, reply.numbers) == ("0.000000", ())


def test_local_models_pass_the_battery(tmp_path: Path, media: MediaFolder) -> None:
    folder, other = llama(tmp_path / "one", True), llama(tmp_path / "other", True, seed=1)
    views = [view_of(), view_of("the red cup", " left of the blue cup", "two")]
    for change in (f"{folder}?paper_off_by_one=1", f"{folder}?dtype=bfloat16", str(other)):
        replies = check_subject(
            lambda: make_subject(f"logprob:hf/{folder}"),
            views,
            media,
            change=lambda change=change: make_subject(f"logprob:hf/{change}"),  # type: ignore[misc]
        )
        assert make_subject(f"logprob:hf/{change}").card.settings != make_subject(f"logprob:hf/{folder}").card.settings
    assert replies[0].text != replies[1].text
    sheet = ask(make_subject(f"logprob:hf/{folder}"), *views)
    assert [cell["q1" if n == 0 else "q2"] for n, cell in enumerate(json.loads(sheet.text))] == [
        reply.text for reply in replies
    ]
    assert sheet.numbers == pytest.approx([*replies[0].numbers, *replies[1].numbers], abs=1e-6)
    card = make_subject(f"logprob:hf/{folder}?dtype=bfloat16&device=cpu").card
    assert (card.name, card.reads) == (f"logprob:hf/{folder}?dtype=bfloat16", "views")


def test_half_precision_gives_a_near_but_different_number(tmp_path: Path) -> None:
    folder = llama(tmp_path, True)
    exact, rough = (
        ask(make_subject(f"logprob:hf/{folder}?dtype={dtype}"), view_of()) for dtype in ("float32", "bfloat16")
    )
    assert 1e-6 < abs(float(exact.text) - float(rough.text)) < 0.2


def wrong_views(image: Media) -> Mapping[str, View]:
    view = view_of()
    return {
        "answers with a log-probability, a number": replace(view, reply=ReplySpec("text")),
        "reads only text": replace(view, query=(image,)),
        "exactly one option, with the key 'continuation'": replace(view, options=(Option("A", EDIT),)),
        "needs exactly one option": replace(view, options=view.options * 2),
        "needs a context": replace(view, question=""),
        "both non-empty": replace(view, options=(Option("continuation", ""),)),
    }


def test_questions_without_a_continuation_are_declined(tmp_path: Path, media: MediaFolder) -> None:
    subject = make_subject(f"logprob:hf/{llama(tmp_path / 'model', True)}")
    for reason, view in wrong_views(patch(media, (1, 2, 3))).items():
        assert reason in str(subject.declines(Prompt((), (view_of(), view))))
    assert subject.declines(Prompt((), (view_of("red " * 26),))) is None
    assert subject.declines(Prompt((), (view_of("red " * 27),))) == "reads at most 32 tokens, and this has 33"
    assert "no token" in str(subject.declines(Prompt((), (view_of(continuation=" "),))))
    assert subject.declines(Prompt(("how likely?",), ())) == "nothing to read"


def test_mistakes_are_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = llama(tmp_path / "model", True)
    monkeypatch.setenv("NEARBY_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.delenv("NEARBY_API_KEY", raising=False)
    messages = {
        "gpt2": "write logprob: and one of hf/PATH_OR_ID, openai-api/SERVICE/MODEL",
        "openai-api/nearby": "write logprob: and one of",
        "openai-api/nearby/model": "NEARBY_API_KEY is not set",
        "openai-api/nearby/model?paper_off_by_one=1": "use logprob:hf/",
        "openai-api/nearby/model?attempts=0": "attempts='0': must be a whole number from 1 to 100",
        f"hf/{tmp_path / 'nothing'}": "no such model",
        f"hf/{folder}?dtype=float8": "dtype='float8': did you mean",
        f"hf/{folder}?paper_off_by_one=yes": "paper_off_by_one='yes'",
        f"hf/{folder}?temperature=0": "no setting 'temperature'",
    }
    for name, message in messages.items():
        assert_refused(partial(make_subject, f"logprob:{name}"), message)


# From a server


def echo(prompt: str, token_texts: list[str], **logprob_fields: Any) -> Body:
    """A completion in the form of vLLM: the prompt's tokens, their offsets and log-probabilities (the n-th is -n)."""
    offsets = [sum(map(len, token_texts[:n])) for n in range(len(token_texts))]
    numbers: list[float | None] = [None, *(-float(n) for n in range(1, len(token_texts)))]
    logprobs = {
        "tokens": token_texts,
        "text_offset": offsets,
        "token_logprobs": numbers,
        "top_logprobs": None,
        **logprob_fields,
    }
    choice = {"index": 0, "text": prompt, "finish_reason": "length", "logprobs": logprobs}
    usage = {"prompt_tokens": len(token_texts), "completion_tokens": 0, "total_tokens": len(token_texts)}
    completion = {"id": "c", "object": "text_completion", "created": 0, "model": "as served", "choices": [choice]}
    return Body(json.dumps({**completion, "usage": usage}))


TOKEN_TEXTS = ["a red", " cup", ".", " make", " it", " blue"]
VIEW = view_of("a red cup.", " make it blue")


def served(monkeypatch: pytest.MonkeyPatch, server: StubServer, settings: str = "") -> Subject:
    monkeypatch.setenv("NEAR_BY_BASE_URL", server.url)
    monkeypatch.setenv("NEAR_BY_API_KEY", "none")
    return replace(make_subject(f"logprob:openai-api/near-by/org/model{settings}"), first_wait=0.01)  # type: ignore[type-var]


def test_the_scored_tokens_of_a_server_are_those_after_the_context(
    monkeypatch: pytest.MonkeyPatch, media: MediaFolder
) -> None:
    pytest.importorskip("httpx", reason="needs the extra 'chat'")
    with StubServer(lambda request: echo(request.body["prompt"], TOKEN_TEXTS)) as server:
        (reply,) = check_subject(lambda: served(monkeypatch, server), [VIEW], media)
        card = served(monkeypatch, server, "?max_concurrency=7").card
    assert (reply.text, reply.numbers) == ("-4.000000", (-3.0, -4.0, -5.0))
    assert (reply.model, reply.tokens_in) == ("as served", 6)
    fields = {"model": "org/model", "prompt": "a red cup. make it blue", "echo": True, "logprobs": 1, "max_tokens": 0}
    fields["temperature"] = 1.0
    assert fields.items() <= server.requests[0].body.items()
    assert (card.name, card.max_concurrency, card.reads) == ("logprob:openai-api/near-by/org/model", 7, "views")


def test_a_server_may_count_the_special_token_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx", reason="needs the extra 'chat'")
    with StubServer(lambda request: echo(request.body["prompt"], ["<|begin|>", *TOKEN_TEXTS])) as server:
        reply = ask(served(monkeypatch, server), VIEW)
    assert reply.numbers == (-4.0, -5.0, -6.0)


REFUSED = Status(400, error={"message": "Only no echo is supported", "type": "invalid_request_error"})
FAULTS: dict[str, tuple[Callable[[ServedRequest], Answer], str]] = {
    "a token across the border": (
        lambda request: echo("", ["a red", " cup", ". make", " it", " blue"]),
        "the token '. make' crosses the border",
    ),
    "tokens that spell something else": (
        lambda request: echo("", ["a red", " cup", ".", " make", " it", "▁blue"]),
        "do not spell the continuation ' make it blue'",
    ),
    "additional words": (lambda request: echo("", [*TOKEN_TEXTS, " sky"]), "crosses the border|do not spell"),
    "no log-probabilities": (lambda request: Body(json.dumps({"choices": [{"text": "x"}]})), "must support echo"),
    "no choice": (lambda request: Body(json.dumps({"choices": []})), "must support echo"),
    "holes": (lambda request: echo("", TOKEN_TEXTS, token_logprobs=[None] * 6), "without its log-probability"),
    "a refusal": (lambda request: REFUSED, r"400 .*Only no echo is supported.*attempt 1"),
    "an outage": (lambda request: Status(503), r"503 .*attempt 2"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_unusable_reply_of_a_server_is_a_failed_call(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx", reason="needs the extra 'chat'")
    answer, message = FAULTS[fault]
    with StubServer(answer) as server, pytest.raises(CallFailed, match=message):
        ask(served(monkeypatch, server, "?attempts=2"), VIEW)


def test_a_temporary_outage_is_not_a_failure(monkeypatch: pytest.MonkeyPatch, media: MediaFolder) -> None:
    pytest.importorskip("httpx", reason="needs the extra 'chat'")
    with StubServer(lambda request: echo("", TOKEN_TEXTS) if request.number > 2 else Status(429)) as server:
        subject = served(monkeypatch, server)
        reply = ask(subject, VIEW)
        for reason, view in wrong_views(patch(media, (1, 2, 3))).items():
            assert reason in str(subject.declines(Prompt((), (view,))))
    assert (server.count, reply.text) == (3, "-4.000000")
    assert not math.isnan(float(reply.text))


def test_a_served_model_has_its_defaults_on_its_card(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx", reason="needs the extra 'chat'")
    monkeypatch.setenv("NEAR_BY_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("NEAR_BY_API_KEY", "none")
    subjects: list[Any] = [
        make_subject(f"logprob:openai-api/near-by/m{settings}") for settings in ("", "?attempts=2&max_concurrency=7")
    ]
    cards = [(subject.card.max_concurrency, subject.card.is_local, subject.attempts) for subject in subjects]
    assert cards == [(4, False, 5), (7, False, 2)]
    settings = {"logprob": "openai-api", "version": 1, "model": "openai-api/near-by/m"}
    assert [subject.card.settings for subject in subjects] == [settings] * 2
    assert {subject.card.name for subject in subjects} == {"logprob:openai-api/near-by/m"}
