"""Work in independent shards, in a process pool, and its progress line."""

from snellen.compute.pool import (
    Shard,
    ShardFailed,
    background,
    cores,
    each_result,
    map_ahead,
    map_shards,
    one_at_a_time,
)
from snellen.compute.progress import Progress

__all__ = [
    "Progress",
    "Shard",
    "ShardFailed",
    "background",
    "cores",
    "each_result",
    "map_ahead",
    "map_shards",
    "one_at_a_time",
]
