"""Detectors as subjects: replies, positions of boxes, and declined questions."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from skimage import data as photographs
from skimage import transform as transforms

from snellen.core.errors import SnellenError
from snellen.core.item import Affine, Box, Media, ReplySpec, View
from snellen.core.prompt import Prompt
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject, SubjectCard
from snellen.curated_sets.construction_models import zero_shot
from snellen.curated_sets.construction_models.detectors import DetectorSubject, write_middle
from snellen.scoring.answers import read_answer
from snellen.subjects.boxes import Detection
from snellen.subjects.registry import make_subject
from tests.contracts.subject_battery import check_subject
from tests.helpers.detector_replies import ask, rows
from tests.helpers.journey import patch
from tests.helpers.refusals import assert_refused

data: Any = photographs
transform: Any = transforms

ASTRONAUT_FACE: Box = (178.0, 75.0, 273.0, 178.0)
"""From brows to chin and from ear to ear, measured by eye."""
WITHOUT_FACES = ("chelsea", "coffee", "rocket", "page", "coins", "gravel")


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def view_of(image: Media, question: str = "cat", item_id: str = "one", **fields: Any) -> View:
    return View(item_id, item_id, "boxes", question, (image,), ReplySpec("text"), **fields)


def overlap(box: Sequence[float], other_box: Sequence[float]) -> float:
    """Intersection over union, by counting pixels."""
    field = np.zeros((2, 600, 700), bool)
    for mask, (x1, y1, x2, y2) in zip(field, (box, other_box), strict=True):
        mask[round(y1) : round(y2), round(x1) : round(x2)] = True
    return float((field[0] & field[1]).sum() / (field[0] | field[1]).sum())


@dataclass(frozen=True)
class FixedDetector:
    """Always finds the same; records the images that it was shown."""

    detections: tuple[Detection, ...]
    modes_and_sizes: list[tuple[str, tuple[int, int]]] = field(default_factory=list)

    def refuses(self, question: str) -> str | None:
        return None if question else "everything is too much"

    def find(self, image: Image.Image, question: str) -> Sequence[Detection]:
        self.modes_and_sizes.append((image.mode, image.size))
        return self.detections


CARD = SubjectCard("detector:fixed", accepts=frozenset({"image"}), reads="views", max_concurrency=1)


def fixed(*detections: Detection) -> DetectorSubject:
    return DetectorSubject(CARD, FixedDetector(detections))


def test_boxes_are_written_best_first_and_clipped_at_the_edges(media: MediaFolder) -> None:
    subject = fixed(
        Detection((1.0, 2.0, 3.0, 4.0), "low", 0.2),
        Detection((-5.0, 1.23456, 99.0, 6.5), "hîgh", 0.93456789),
        Detection((8.0, 0.0, 12.0, 3.0), "outside", 0.99),
        Detection((2.0, 2.0, 3.0, 3.0), "small", 0.2),
    )
    reply = ask(subject, media, view_of(patch(media, (1, 2, 3))))
    assert reply.text == (
        '{"boxes": [{"box": [0.0, 1.235, 8.0, 6.0], "label": "hîgh", "score": 0.934568}, '
        '{"box": [1.0, 2.0, 3.0, 4.0], "label": "low", "score": 0.2}, '
        '{"box": [2.0, 2.0, 3.0, 3.0], "label": "small", "score": 0.2}]}'
    )
    assert reply.numbers == (0.934568, 0.2, 0.2)
    assert subject.detector.modes_and_sizes == [("RGB", (8, 6))]  # type: ignore[attr-defined]


def test_an_empty_detection_is_an_answer(media: MediaFolder) -> None:
    reply = ask(fixed(), media, view_of(patch(media, (1, 2, 3))))
    assert (reply.text, reply.numbers) == ('{"boxes": []}', ())
    assert read_answer(reply.text, ReplySpec("text")) == reply.text


def test_boxes_are_mapped_back_to_the_stored_image(media: MediaFolder) -> None:
    stored = patch(media, (1, 2, 3))
    # Rotated clockwise by 90 degrees, doubled, then moved by (30, 40): (x, y) -> (30 + 2 (6 - y), 40 + 2 x).
    turned = Affine(0, -2, 42, 2, 0, 40)
    derived = media.derive(["turned"], lambda: Image.new("L", (60, 70)), stored, turned)
    reply = ask(fixed(Detection((34.0, 42.0, 40.0, 50.0), "cat", 0.5)), media, view_of(derived))
    assert rows(reply)[0]["box"] == [1.0, 1.0, 5.0, 4.0]


def test_several_views_are_one_sheet(media: MediaFolder) -> None:
    views = [view_of(patch(media, (n, 2, 3)), item_id=f"v{n}") for n in range(2)]
    reply = ask(fixed(Detection((1.0, 2.0, 3.0, 4.0), "cat", 0.5)), media, *views)
    cells = json.loads(reply.text)
    assert [json.loads(cell["q1"])["boxes"][0]["label"] for cell in cells] == ["cat", "cat"]
    assert reply.numbers == (0.5, 0.5)


def test_questions_that_do_not_ask_for_boxes_are_declined(media: MediaFolder) -> None:
    image = patch(media, (1, 2, 3))
    view = view_of(image)
    film = replace(image, kind="video", format="mp4")
    wrong = {
        "writes boxes as text": replace(view, reply=ReplySpec("box")),
        "exactly one image, in the query, not 0": replace(view, query=()),
        "not 2": replace(view, query=(image, image)),
        "cannot be shown a video": replace(view, query=(film,)),
        "everything is too much": replace(view, question=""),
    }
    for reason, wrong_view in wrong.items():
        assert reason in str(fixed().declines(Prompt((), (view, wrong_view))))
    assert fixed().declines(Prompt(("what is there?",), ())) == "nothing to look at"


def test_a_point_is_the_middle_of_the_first_box_or_that_there_is_none() -> None:
    view = View("a", "a", "t", "?", (), ReplySpec("point"))
    assert json.loads(write_middle([Detection((10, 20, 30, 60)), Detection((0, 0, 1, 1))], view)) == [20, 40]
    assert write_middle([], view) == "nothing found"


# Faces


def photograph(media: MediaFolder, name: str) -> Media:
    return media.add_image(Image.fromarray(getattr(data, name)()))


def test_the_cascade_finds_the_one_face(media: MediaFolder) -> None:
    (reply,) = check_subject(
        lambda: make_subject("detector:face"),
        [view_of(photograph(media, "astronaut"), "face")],
        media,
        change=lambda: make_subject("detector:face?min_neighbors=3"),
    )
    (face,) = rows(reply)
    assert overlap(face["box"], ASTRONAUT_FACE) > 0.7
    assert (face["label"], face["score"], reply.numbers) == ("face", 1.0, (1.0,))


@pytest.mark.parametrize("name", WITHOUT_FACES)
def test_the_cascade_finds_no_face_in_images_without_faces(name: str, media: MediaFolder) -> None:
    assert ask(make_subject("detector:face"), media, view_of(photograph(media, name), "Faces.")).text == '{"boxes": []}'


def test_the_cascade_separates_labelled_crops(media: MediaFolder) -> None:
    """Ten faces and ten other crops of LFW, enlarged; LFW comes with labels."""
    crops = data.lfw_subset()[[*range(0, 100, 10), *range(100, 200, 10)]]
    large = [Image.fromarray(np.pad((transform.resize(crop, (96, 96)) * 255).astype("uint8"), 16)) for crop in crops]
    subject = make_subject("detector:face?smallest=0.3")
    face_counts = [len(rows(ask(subject, media, view_of(media.add_image(image), "face")))) for image in large]
    assert sum(count == 1 for count in face_counts[:10]) >= 8
    assert sum(face_counts[10:]) <= 1


def test_the_settings_of_the_cascade_have_an_effect(media: MediaFolder) -> None:
    view = view_of(photograph(media, "astronaut"), "face")

    def count(settings: str) -> int:
        return len(rows(ask(make_subject(f"detector:face?{settings}"), media, view)))

    assert count("smallest=0.5") == 0, "the face is a fifth of the side"
    assert count("min_neighbors=1&smallest=0.05") > 3, "fewer windows must agree"
    assert ask(make_subject("detector:face"), media, view_of(patch(media, (1, 2, 3)), "face")).text == '{"boxes": []}'


def test_face_detectors_decline_other_things(media: MediaFolder) -> None:
    subject, image = make_subject("detector:face"), patch(media, (1, 2, 3))
    assert subject.declines(Prompt((), (view_of(image, "A face"),))) is None
    assert subject.declines(Prompt((), (view_of(image, "pet"),))) == "finds only faces, not 'pet'"
    assert subject.declines(Prompt((), (view_of(image, ""),))) == "finds only faces, not everything"


def test_mediapipe_is_required_only_if_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mediapipe", None)
    with pytest.raises(SnellenError, match=r"detector:mediapipe-face needs mediapipe .*pip install .*\[faces\]'"):
        make_subject("detector:mediapipe-face")


@pytest.mark.parametrize(("settings", "options"), [("", (0, 0.5)), ("?model=full&threshold=0.9", (1, 0.9))])
def test_faces_of_blazeface_are_shares_of_width_and_height(
    settings: str, options: tuple[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[Any]()

    @contextmanager
    def graph(**chosen: Any) -> Iterator[Any]:
        calls.append(chosen)
        box = SimpleNamespace(xmin=0.25, ymin=0.5, width=0.5, height=0.25)
        face = SimpleNamespace(location_data=SimpleNamespace(relative_bounding_box=box), score=[0.75])
        yield SimpleNamespace(process=lambda rows: SimpleNamespace(detections=[face] if len(rows) > 9 else None))

    package = SimpleNamespace(face_detection=SimpleNamespace(FaceDetection=graph))
    fake = SimpleNamespace(__version__="0.10", solutions=package)
    monkeypatch.setattr("snellen.curated_sets.construction_models.faces._mediapipe", lambda: fake)
    subject: Any = make_subject(f"detector:mediapipe-face{settings}")
    wide, small = Image.new("RGB", (200, 80)), Image.new("RGB", (20, 8))
    assert subject.detector.find(wide, "face") == [Detection((50.0, 40.0, 150.0, 60.0), "face", 0.75)]
    assert subject.detector.find(small, "face") == []
    assert calls == [{"model_selection": options[0], "min_detection_confidence": options[1]}] * 2
    assert subject.card.settings["mediapipe"] == "0.10"
    assert subject.detector.refuses("cup") == "finds only faces, not 'cup'"


def test_blazeface_finds_the_face_and_nothing_else(media: MediaFolder) -> None:
    pytest.importorskip("mediapipe", reason="needs the extra 'faces'")
    view = view_of(photograph(media, "astronaut"), "face")
    empty = [view_of(photograph(media, name), "face", name) for name in WITHOUT_FACES]
    for model in ("short", "full"):
        replies = check_subject(
            lambda model=model: make_subject(f"detector:mediapipe-face?model={model}"),  # type: ignore[misc]
            [view, *empty],
            media,
            change=lambda: make_subject("detector:mediapipe-face?threshold=0.9"),
        )
        (face,) = rows(replies[0])
        assert overlap(face["box"], ASTRONAUT_FACE) > 0.7
        assert 0.5 < face["score"] <= 1
        assert replies[0].numbers == (face["score"],)
        assert [reply.text for reply in replies[1:]] == ['{"boxes": []}'] * len(empty)


# Zero-shot detectors: tiny and random, saved to a folder

WORDS = ("pet", "face", "a", "cat", "dog", "red", "cup", "coffee", "##s")
NEED = "needs the extra 'models'"


def save(folder: Path, model: Any, kind: str, **processor: Any) -> Path:
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps({"image_processor_type": kind, **processor}))
    return folder


def grounding_dino(folder: Path, seed: int = 0) -> Path:
    transformers, torch = (pytest.importorskip(name, reason=NEED) for name in ("transformers", "torch"))
    folder.mkdir(exist_ok=True)
    # The model knows special tokens by BERT's own numbers.
    words = [f"[unused{number}]" for number in range(1100)]
    for number, word in {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 1012: "."}.items():
        words[number] = word
    words[200 : 200 + len(WORDS)] = WORDS
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(seed)
    seeing = {"image_size": 64, "embed_dim": 8, "depths": [1] * 4, "num_heads": [1, 1, 2, 2], "window_size": 4}
    reading = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    sizes = {"d_model": 32, "max_text_len": 12, "num_queries": 8, "encoder_layers": 1, "decoder_layers": 2}
    heads = {
        f"{side}_{part}": n for side in ("encoder", "decoder") for part, n in (("attention_heads", 2), ("ffn_dim", 16))
    }
    config = transformers.GroundingDinoConfig(
        backbone_config=transformers.SwinConfig(**seeing, out_indices=[2, 3, 4]),
        text_config=transformers.BertConfig(vocab_size=len(words), **reading),
        **sizes,
        **heads,
    )
    size = {"shortest_edge": 64, "longest_edge": 100}
    return save(folder, transformers.GroundingDinoForObjectDetection(config), "GroundingDinoImageProcessor", size=size)


def owl(folder: Path, kind: str = "Owlv2") -> Path:
    transformers, torch = (pytest.importorskip(name, reason=NEED) for name in ("transformers", "torch"))
    letters = [chr(code) for code in range(97, 123)]
    words = ["!", *letters, *[f"{letter}</w>" for letter in letters], "<|startoftext|>", "<|endoftext|>"]
    tokenizer = transformers.CLIPTokenizer({word: n for n, word in enumerate(words)}, [], pad_token="!")
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    parts = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    texts = {"vocab_size": len(words), "max_position_embeddings": 16, "pad_token_id": 0}
    texts |= {"bos_token_id": len(words) - 2, "eos_token_id": len(words) - 1}
    images = {"image_size": 32, "patch_size": 8}
    config = getattr(transformers, f"{kind}Config")(
        text_config={**parts, **texts}, vision_config={**parts, **images}, projection_dim=16
    )
    model = getattr(transformers, f"{kind}ForObjectDetection")(config)
    return save(folder, model, f"{kind}ImageProcessor", size={"height": 32, "width": 32})


MAKERS: dict[str, Callable[[Path], Path]] = {
    "grounding-dino": grounding_dino,
    "owlv2": owl,
    "owlvit": lambda folder: owl(folder, "OwlViT"),
}


def wide(media: MediaFolder) -> Media:
    return media.add_image(Image.fromarray(data.coffee()[:150, :300]))


@pytest.mark.parametrize("family", MAKERS)
def test_zero_shot_detectors_pass_the_battery(family: str, tmp_path: Path, media: MediaFolder) -> None:
    folder, image = MAKERS[family](tmp_path / family), wide(media)
    before = set(sys.modules)

    def make(threshold: str = "0") -> Subject:
        return make_subject(f"detector:hf/{folder}?threshold={threshold}")

    replies = check_subject(make, [view_of(image, "a cat")], media, change=lambda: make("0.5"))
    detected = rows(replies[0])
    assert detected
    for row in detected:
        x1, y1, x2, y2 = row["box"]
        assert 0 <= x1 < x2 <= 300
        assert 0 <= y1 < y2 <= 150
    assert list(replies[0].numbers) == sorted(replies[0].numbers, reverse=True) == [row["score"] for row in detected]
    assert "torchvision" not in set(sys.modules) - before


@pytest.mark.parametrize("family", MAKERS)
def test_boxes_and_scores_equal_those_of_transformers(family: str, tmp_path: Path, media: MediaFolder) -> None:
    """Compared with the library's own post-processing, which we do not use, on an image twice as wide as high."""
    folder, image = MAKERS[family](tmp_path / family), wide(media)
    import torch
    import transformers

    ours = rows(ask(make_subject(f"detector:hf/{folder}?threshold=0.3"), media, view_of(image, "a cat")))
    words: Any = transformers.AutoTokenizer.from_pretrained(folder)
    library: Any = transformers
    image_processor: Any = library.AutoImageProcessor.from_pretrained(folder, backend="pil")
    model: Any = transformers.AutoModelForZeroShotObjectDetection.from_pretrained(folder).eval()
    grounded = family == "grounding-dino"
    inputs = (
        words(["a cat."], return_tensors="pt")
        if grounded
        else words(["a cat"], padding="max_length", max_length=16, return_tensors="pt")
    )
    names = ("input_ids", "attention_mask", *(("token_type_ids",) if grounded else ()))
    with torch.inference_mode():
        out = model(
            **image_processor([media.open(image)], return_tensors="pt"), **{name: inputs[name] for name in names}
        )
    if grounded:
        processor = library.GroundingDinoProcessor(image_processor, words)
        (expected,) = processor.post_process_grounded_object_detection(
            out, inputs["input_ids"], 0.3, 0.25, [(150, 300)]
        )
    else:
        (expected,) = image_processor.post_process_object_detection(out, 0.3, [(150, 300)])
    boxes = expected["boxes"].numpy().clip(0, [300, 150, 300, 150]).round(3)
    valid = (boxes[:, 0] < boxes[:, 2]) & (boxes[:, 1] < boxes[:, 3])
    order = np.argsort(-expected["scores"].numpy()[valid], kind="stable")
    assert len(ours) > 0
    assert np.allclose([row["score"] for row in ours], expected["scores"].numpy()[valid][order], atol=1e-5)
    assert np.allclose([row["box"] for row in ours], boxes[valid][order], atol=2e-3)


@dataclass(frozen=True)
class FindsTheRed:
    """A model that finds the red patch in its pixels and returns its box in fractions."""

    tokens: int

    def __call__(self, pixel_values: Any, input_ids: Any, pixel_mask: Any = None, **unused: Any) -> Any:
        import torch

        channels = pixel_values[0].numpy()
        mask = np.ones(channels.shape[1:]) if pixel_mask is None else pixel_mask[0].numpy()
        height, width = mask.any(1).sum(), mask.any(0).sum()  # without padding
        ys, xs = np.nonzero((channels[0] > 1.0) & (channels[1] < 0.0))
        (x1, x2), (y1, y2) = (xs.min(), xs.max() + 1), (ys.min(), ys.max() + 1)
        box = [(x1 + x2) / 2 / width, (y1 + y2) / 2 / height, (x2 - x1) / width, (y2 - y1) / height]
        logits = torch.full((1, 2, self.tokens), -9.0)
        logits[0, 1, 1 if self.tokens > 1 else 0] = 3.0

        @dataclass
        class Out:
            logits: Any
            pred_boxes: Any

        return Out(logits, torch.tensor([[[0.5, 0.5, 0.1, 0.1], box]], dtype=torch.float32))


@pytest.mark.parametrize("size", [(320, 160), (96, 288)])
@pytest.mark.parametrize("family", MAKERS)
def test_a_patch_in_the_processed_image_is_mapped_back_to_its_position(
    family: str, size: tuple[int, int], tmp_path: Path, media: MediaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real processors resize and pad; the returned box must be where the patch was painted."""
    folder = MAKERS[family](tmp_path / family)
    side = {"shortest_edge": 256, "longest_edge": 512} if family == "grounding-dino" else {"height": 256, "width": 256}
    settings = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(json.dumps({**settings, "size": side}))
    width, height = size
    painted = (width // 4, height // 2, width // 2, height * 3 // 4)
    canvas = Image.new("RGB", size, (20, 60, 160))
    canvas.paste((255, 0, 0), painted)
    stored = media.add_image(canvas)
    monkeypatch.setattr(zero_shot, "load_model", lambda *args: FindsTheRed(12 if family == "grounding-dino" else 1))
    subject = make_subject(f"detector:hf/{folder}")
    (row,) = rows(ask(subject, media, view_of(stored, "cat")))
    assert np.allclose(row["box"], painted, atol=2.5), "two processed pixels at most"
    assert (row["label"], row["score"]) == ("cat", pytest.approx(1 / (1 + np.exp(-3)), abs=1e-6))
    # With the same image on a larger canvas, the boxes are still those of the stored image.
    paper = Image.new("RGB", (width + 70, height + 30), (20, 60, 160))
    paper.paste(canvas, (50, 10))
    derived = media.derive(["paper"], lambda: paper, stored, Affine(c=50, f=10))
    (row,) = rows(ask(subject, media, view_of(derived, "cat")))
    assert np.allclose(row["box"], painted, atol=3.0)


def test_labels_of_grounding_dino_are_words_of_the_best_phrase(
    tmp_path: Path, media: MediaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, image = grounding_dino(tmp_path / "dino"), wide(media)
    # [CLS] red cup ##s . a coffee cup . [SEP]
    scores = {
        "cups": [0.1, 0.1, 0.7, 0.6, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
        "a cup": [0.1, 0.1, 0.1, 0.65, 0.1, 0.3, 0.1, 0.69, 0.1, 0.1],
        "coffee": [0.1, 0.1, 0.1, 0.1, 0.9, 0.1, 0.45, 0.1, 0.1, 0.1],  # the full stop belongs to no phrase
        "": [0.1, 0.1, 0.1, 0.1, 0.9, 0.1, 0.2, 0.1, 0.1, 0.1],
    }
    table = np.pad(np.array(list(scores.values())), ((0, 0), (0, 2)))
    boxes = np.tile([0.5, 0.5, 0.2, 0.2], (4, 1))
    monkeypatch.setattr(zero_shot.ZeroShotDetector, "_infer", lambda self, image, tokens: (table, boxes))
    detections = make_subject(f"detector:hf/{folder}").detector.find(media.open(image), "Red  cups.a coffee cup")  # type: ignore[attr-defined]
    assert [detection.label for detection in detections] == list(scores)
    assert [detection.score for detection in detections] == [0.7, 0.69, 0.9, 0.9]


def test_an_owl_box_counts_by_its_best_phrase_whichever_it_is(
    tmp_path: Path, media: MediaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The threshold is 0.1: of five boxes each of three phrases has one, one is best at two, one is just not above."""
    folder, image = owl(tmp_path / "owl"), wide(media)
    (tmp_path / "names.txt").write_text("cat\ndog\nred cup")
    scores = [[0.9, 0.0, 0.0], [0.0, 0.8, 0.0], [0.0, 0.05, 0.7], [0.3, 0.6, 0.2], [0.1, 0.1, 0.1]]
    boxes = np.array([[0.1 * n, 0.25, 0.1, 0.1] for n in range(1, 6)])
    monkeypatch.setattr(zero_shot.ZeroShotDetector, "_infer", lambda self, image, tokens: (np.array(scores), boxes))
    detector: Any = make_subject(f"detector:hf/{folder}?vocabulary={tmp_path / 'names.txt'}").detector  # type: ignore[attr-defined]
    for question in ("Cat. dog. red cup", ""):
        detections = detector.find(media.open(image), question)
        rows = [(detection.label, detection.score, round(detection.box[0])) for detection in detections]
        # Boxes are 30 pixels wide about 30, 60, 90 and 120.
        assert rows == [("cat", 0.9, 15), ("dog", 0.8, 45), ("red cup", 0.7, 75), ("dog", 0.6, 105)], question


def test_a_vocabulary_replaces_an_empty_question(tmp_path: Path, media: MediaFolder) -> None:
    folder, image = grounding_dino(tmp_path / "dino"), wide(media)
    names = ["Coffee cup", "cat", "", "dog", "cat", "pet", "red face"]
    (tmp_path / "names.txt").write_text("\n".join(names))

    def make(settings: str = "", threshold: str = "0.2") -> Subject:
        return make_subject(f"detector:hf/{folder}?threshold={threshold}{settings}")

    everything = make(f"&vocabulary={tmp_path / 'names.txt'}")
    view = view_of(image, "")
    assert "vocabulary=FILE" in str(make().declines(Prompt((), (view,))))
    detected = rows(ask(everything, media, view))
    # Twelve tokens at once: the first chunk has four names, the second one.
    chunks = [ask(make(), media, view_of(image, text)) for text in ("coffee cup. cat. dog. pet.", "red face")]
    assert sorted(row["score"] for row in detected) == sorted(score for reply in chunks for score in reply.numbers)
    assert {row["label"] for row in detected} <= {"coffee cup", "cat", "dog", "pet", "red face"}
    (tmp_path / "names.txt").write_text("cat\ndog")
    assert make(f"&vocabulary={tmp_path / 'names.txt'}").card.fingerprint() != everything.card.fingerprint()
    assert rows(ask(everything, media, view_of(image, "red face"))) == rows(
        ask(make(), media, view_of(image, "red face"))
    )


def test_phrases_that_are_too_long_for_a_model_are_declined(tmp_path: Path, media: MediaFolder) -> None:
    image, long = wide(media), " ".join(["cat"] * 12)
    dino = make_subject(f"detector:hf/{grounding_dino(tmp_path / 'dino')}")
    assert "at most 12 tokens" in str(dino.declines(Prompt((), (view_of(image, f"dog. {long}"),))))
    assert dino.declines(Prompt((), (view_of(image, "dog. " * 20),))) is None, "short phrases go in several prompts"
    reader = make_subject(f"detector:hf/{owl(tmp_path / 'owl')}")
    assert reader.declines(Prompt((), (view_of(image, "f" * 14),))) is None
    assert "at most 16 tokens" in str(reader.declines(Prompt((), (view_of(image, "f" * 15),))))


def test_the_fingerprint_follows_weights_and_settings(tmp_path: Path) -> None:
    first, other = (grounding_dino(tmp_path / str(seed), seed) for seed in (0, 1))
    settings = [make_subject(f"detector:hf/{folder}").card.settings for folder in (first, first, other)]
    assert settings[0] == settings[1] != settings[2]
    (tmp_path / "names.txt").write_text("cat")
    for setting in ("threshold=0.4", "text_threshold=0.4", f"vocabulary={tmp_path / 'names.txt'}", "device=cuda"):
        assert make_subject(f"detector:hf/{first}?{setting}").card.settings != settings[0], setting
    assert (
        make_subject(f"detector:hf/{first}?text_threshold=0.4").card.name == f"detector:hf/{first}?text_threshold=0.4"
    )


@pytest.mark.parametrize("settings", ["min_neighbors=3", "smallest=0.2", "scale_factor=1.2", "step_ratio=1.5"])
def test_the_fingerprint_of_the_cascade_follows_its_settings(settings: str) -> None:
    assert make_subject(f"detector:face?{settings}").card.settings != make_subject("detector:face").card.settings


def test_mistakes_are_reported_in_one_line(tmp_path: Path) -> None:
    dino, reader = grounding_dino(tmp_path / "dino"), owl(tmp_path / "owl")
    import transformers

    vit = tmp_path / "vit"
    transformers.ViTConfig().save_pretrained(vit)
    (tmp_path / "dots.txt").write_text("cat\ndr. who")
    (tmp_path / "empty.txt").write_text("\n\n")
    lacking = grounding_dino(tmp_path / "lacking")
    model: Any = transformers.GroundingDinoForObjectDetection.from_pretrained(lacking)
    state = {key: value for key, value in model.state_dict().items() if "level_embed" not in key}
    model.save_pretrained(lacking, state_dict=state)
    messages = {
        "faec": "no detector 'faec'; did you mean 'face'?",
        "face?min_neighbors=0": "min_neighbors='0': must be a whole number from 1 to 1000",
        "face?min_neighbors=1.5": "must be a whole number",
        "face?threshold=1": "no setting 'threshold'",
        f"hf/{tmp_path / 'nothing'}": "no such model",
        f"hf/{vit}": "vit is not a supported detector; use grounding-dino",
        f"hf/{dino}?threshold=2": "threshold='2': must be a number from 0 to 1",
        f"hf/{reader}?text_threshold=0.1": "no setting 'text_threshold'",
        f"hf/{dino}?vocabulary={tmp_path / 'none.txt'}": "not a readable vocabulary",
        f"hf/{dino}?vocabulary={tmp_path / 'dots.txt'}": "names must not contain a full stop; write 'dr who'",
        f"hf/{dino}?vocabulary={tmp_path / 'empty.txt'}": "contains no names",
    }
    for name, message in messages.items():
        assert_refused(partial(make_subject, f"detector:{name}"), message)
    for name, message in {
        f"hf/{lacking}": "would be random",
        f"hf/{dino}?device=nowhere:0": "no device 'nowhere:0'",
    }.items():
        subject = make_subject(f"detector:{name}")
        with pytest.raises(SnellenError, match=message):
            subject.detector.find(Image.new("RGB", (80, 60)), "cat")  # type: ignore[attr-defined]


def test_processors_only_for_torchvision_are_refused(tmp_path: Path) -> None:
    folder = grounding_dino(tmp_path / "dino")
    settings = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(
        json.dumps({**settings, "image_processor_type": "DepthProImageProcessor"})
    )
    with pytest.raises(SnellenError, match="no image processor works with Pillow"):
        make_subject(f"detector:hf/{folder}")


def test_detectors_have_their_defaults_and_sorted_settings_on_their_cards(tmp_path: Path) -> None:
    face = make_subject("detector:face?smallest=0.2&min_neighbors=3").card
    assert face.name == "detector:face?min_neighbors=3&smallest=0.2"
    assert (face.max_concurrency, face.is_local, face.reads) == (1, True, "views")
    assert (set(face.accepts), dict(face.attributes)) == ({"image"}, {"family": "tool"})
    usual = {"scale_factor": 1.1, "step_ratio": 1.0, "min_neighbors": 3, "smallest": 0.2}
    assert usual.items() <= face.settings.items()
    dino = make_subject(f"detector:hf/{grounding_dino(tmp_path / 'dino')}?device=cpu").card
    assert dino.name == f"detector:hf/{tmp_path / 'dino'}"
    assert (dino.settings["threshold"], dino.settings["text_threshold"]) == (0.25, 0.25)
    reader = make_subject(f"detector:hf/{owl(tmp_path / 'owl')}").card
    assert (reader.settings["threshold"], "text_threshold" in reader.settings) == (0.1, False)
