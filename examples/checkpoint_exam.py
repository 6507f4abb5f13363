"""A tiny model learns to name abstract objects, and is examined before it, on the way and at the end.

    python examples/checkpoint_exam.py [FOLDER]

It needs `pip install 'snellen[models]'` (torch), no renderer and no download: images are drawn flat. The exam asks
`img2text` of ComBo: which of four names the object in the image resembles most. The model learns from images of
another seed, so that it never saw those it is examined on.
"""

import re
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

import snellen

SIDE = 24


def pixels(image):
    """An image as the model sees it: (3, 24, 24), 0 to 1."""
    small = image.convert("RGB").resize((SIDE, SIDE))
    return torch.from_numpy(np.asarray(small, np.float32) / 255).permute(2, 0, 1)


def build(folder, n, seed):
    """An item set of this task with flat images."""
    return snellen.build(
        "combo", folder, n=n, seed=seed, tasks=("img2text",), renderer="toy", size=(120, 90), show_progress=False
    )


def training_images(folder):
    """Images and names to learn from: a set of another seed."""
    items = build(folder, 160, 1)
    pairs = [(pixels(items.media.open(item.query[0])), item.answer) for item in items.items]
    names = sorted({name for _, name in pairs})
    return torch.stack([image for image, _ in pairs]), torch.tensor([names.index(n) for _, n in pairs]), names


def main(folder):
    """Train for 120 steps, with an exam every 60."""
    torch.manual_seed(0)
    images, labels, names = training_images(folder / "training")
    asked = build(folder / "items", 48, 0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2), nn.ReLU(), nn.Dropout2d(0.1), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.LazyLinear(len(names)),
    )  # fmt: skip
    model(images[:1])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def answer(parts):
        """From the parts of a prompt to the letter of the name that the model finds likeliest."""
        image = next(part for part in parts if not isinstance(part, str))
        options = re.findall(r"^([A-D])\. (.+)$", parts[-1], flags=re.MULTILINE)
        scores = model(pixels(image)[None])[0]
        return max(options, key=lambda option: scores[names.index(option[1])] if option[1] in names else -9.0)[0]

    for step in range(121):
        if step % 60 == 0:
            print(snellen.checkpoint_exam(answer, folder / "exam", step=step, model=model, sets=[asked.root], n=48))
        chosen = torch.randint(len(labels), (32,))
        loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "checkpoint-exam"))
