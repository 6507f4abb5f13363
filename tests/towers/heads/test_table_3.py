"""Table 3: consequences of its numbers."""

from __future__ import annotations

from snellen.suites.ava_bench.published import COLUMNS, TABLE_5
from snellen.towers.heads.stages import PRINTED, STAGES, TABLE_3, printed, stages

NAMES = {"dinov2-l": "DINOv2", "siglip-2": "SigLIP-2", "clip-l": "CLIP"}


def test_the_chosen_setting_is_stage_3_and_gives_table_5() -> None:
    by_setting = stages(STAGES["fit"])
    chosen = [name for name, stage in by_setting.items() if stage == STAGES["fit"]]
    assert chosen == ["rate 1e-4", "rank 128"]
    assert len(set(by_setting.values())) == 5
    for (ability, tower), row in PRINTED.items():
        assert len(row) == len(TABLE_3)
        table_5 = TABLE_5[NAMES[tower]].values[COLUMNS.index(ability)]
        assert {row[list(TABLE_3).index(name)] for name in chosen} == {table_5}


def test_printed_cells() -> None:
    assert printed("rate 5e-4", "object", "clip-l") == "unstable"
    assert printed("rank 64", "ocr", "siglip-2") == "81.51"
    assert printed("rank 64", "ocr", "tiny/clip-l") == ""
    assert {name for (_, name), row in PRINTED.items() if None in row} == set(NAMES)  # in object, all three
