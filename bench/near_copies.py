"""How often near copies are missed, and other images taken for one: `python bench/near_copies.py [--photos DIR]`.

Photographs come with scikit-image, scikit-learn and matplotlib, whole and (three textures) as 48 tiles of 128 px that
look much alike; a folder of one's own adds more. Each is encoded, sized and cut anew. False alarms are counted over
all pairs of different images, and of blocks drawn flat on one floor, which look much alike too.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Callable, Mapping
from itertools import combinations, islice
from pathlib import Path

from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.seeds import stream
from snellen.curation.near_copies import MAX_RESIDUAL, near_pairs, thumbnail
from snellen.stimuli.render import RenderSettings, render_images
from snellen.suites.combo.generated.objects import object_spec
from snellen.suites.vlm2_bench.generated import recipe as vlm2

NAMES = frozenset(
    """astronaut brick camera cell chelsea clock_motion coffee coins grass gravel hubble_deep_field ihc moon
    motorcycle_left page retina rocket""".split()  # noqa: SIM905  # a list would take a line each
)
TEXTURES, TILE_PX = ("brick", "grass", "gravel"), 128
BLOCKS, BLOCK_PX = 200, (160, 120)


def photographs(folder: Path | None) -> dict[str, Image.Image]:
    """By name, RGB."""
    import matplotlib as mpl
    import skimage
    import sklearn

    data = Path(skimage.__file__).parent / "data"
    paths = [path for path in sorted(data.iterdir()) if path.stem in NAMES]
    paths += sorted((Path(sklearn.__file__).parent / "datasets" / "images").glob("*.jpg"))
    paths.append(Path(mpl.get_data_path()) / "sample_data" / "grace_hopper.jpg")
    paths += sorted(folder.rglob("*.jpg")) + sorted(folder.rglob("*.png")) if folder else []
    images = {path.name: Image.open(path).convert("RGB") for path in paths}
    tiles = {
        f"{name} {x} {y}": images[f"{name}.png"].crop((x, y, x + TILE_PX, y + TILE_PX))
        for name in TEXTURES
        for x in range(0, 512, TILE_PX)
        for y in range(0, 512, TILE_PX)
    }
    return {name: image for name, image in (images | tiles).items() if min(image.size) >= TILE_PX}


def blocks(folder: Path) -> dict[str, list[Image.Image]]:
    """Any blocks of ComBo, and those of VLM2-Bench, in which families differ in one dimension."""
    rng, options = stream("near copies", "blocks"), BuildOptions(folder, n=60, size=BLOCK_PX)
    specs = {
        "blocks of ComBo": [object_spec(int(index), 0, 0, BLOCK_PX) for index in rng.choice(9504, BLOCKS, False)],
        "families of VLM2-Bench": list(islice(vlm2._object_specs(vlm2.design(options), options), BLOCKS)),
    }
    settings = RenderSettings(renderer="toy")
    return {name: list(map(Image.open, render_images(of_name, settings, folder))) for name, of_name in specs.items()}


def jpeg(image: Image.Image, quality: int) -> Image.Image:
    """Encoded and decoded."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Image.open(io.BytesIO(buffer.getvalue()))


def sized(image: Image.Image, factor: float) -> Image.Image:
    """In another size."""
    return image.resize((round(image.width * factor), round(image.height * factor)), Image.Resampling.LANCZOS)


def cut(image: Image.Image, share: float, place: float) -> Image.Image:
    """Without this share of width and height; `place` 0 takes it from the right and below, 0.5 from all sides."""
    x, y = image.width * share, image.height * share
    left, top = round(x * place), round(y * place)
    return image.crop((left, top, left + round(image.width - x), top + round(image.height - y)))


COPIES: Mapping[str, Callable[[Image.Image], Image.Image]] = {
    **{f"JPEG, quality {quality}": lambda image, quality=quality: jpeg(image, quality) for quality in (50, 75, 95)},
    **{f"size x {factor}": lambda image, factor=factor: sized(image, factor) for factor in (0.5, 0.75, 1.5, 2)},
    "size x 0.5, JPEG 50": lambda image: jpeg(sized(image, 0.5), 50),
    "cut by 2 % all round": lambda image: cut(image, 0.02, 0.5),
    "cut by 2 % on two sides": lambda image: cut(image, 0.02, 0),
    "cut by 2 %, x 0.5, JPEG 50": lambda image: jpeg(sized(cut(image, 0.02, 1), 0.5), 50),
    "cut by 5 % all round": lambda image: cut(image, 0.05, 0.5),
}  # type: ignore[misc]


def main() -> None:
    """A line a kind of copy, then every false alarm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path)
    images = photographs(parser.parse_args().photos)
    print(f"{len(images)} images, residual at most {MAX_RESIDUAL}")
    greys = {name: thumbnail(image) for name, image in images.items()}
    for kind, copy in COPIES.items():
        missed = [name for name, image in images.items() if not near_pairs([greys[name], thumbnail(copy(image))])]
        tiles = sum(" " in name for name in missed)
        print(f"{kind}: missed {len(missed) - tiles} photographs, {tiles} tiles ({', '.join(missed[:4])})")
    names = list(greys)
    alarms = near_pairs(list(greys.values()))
    print(f"{len(alarms)} of {len(list(combinations(names, 2)))} pairs of different images taken for copies")
    for first, second in alarms:
        print(f"  {names[first]} ~ {names[second]}")
    with tempfile.TemporaryDirectory() as folder:
        for name, drawn in blocks(Path(folder)).items():
            alarms = near_pairs(list(map(thumbnail, drawn)))
            print(f"{name}: {len(alarms)} of {len(drawn) * (len(drawn) - 1) // 2} pairs taken for copies")


if __name__ == "__main__":
    main()
