"""Counted cost of heads: operations a conversation by tower and stage, with Qwen2-0.5B. Nothing is timed."""

from __future__ import annotations

from snellen.towers.heads.costs import ANSWER_TOKENS, TEXT_TOKENS, conversation_flops, tower_flops
from snellen.towers.heads.stages import STAGES
from snellen.towers.heads.towers import TOWERS

LANGUAGE = "Qwen/Qwen2-0.5B"


def main() -> None:
    """Print a table: GFLOP forward of the tower, forward and backward of what reads it, and what caching saves."""
    print(f"{TEXT_TOKENS} tokens of words and {ANSWER_TOKENS} of answer a conversation\n")
    print("| tower | tokens | tower | pretrain | tune | fit | fit, live / cached |")
    print("|---|---|---|---|---|---|---|")
    for name, tower in TOWERS.items():
        seen = tower_flops(tower) / 1e9
        read = [conversation_flops(tower, LANGUAGE, stage)[0] / 1e9 for stage in STAGES.values()]
        fit = STAGES["fit"].epochs
        saved = (seen + read[2]) / (seen / fit + read[2])
        numbers = " | ".join(f"{number:,.0f}" for number in (seen, *read))
        print(f"| {name} | {tower.tokens} | {numbers} | {saved:.2f} |", flush=True)


if __name__ == "__main__":
    main()
