"""Work in independent shards, in a local process pool or on a Ray cluster, and its progress line."""

from snellen.compute.executor import EXECUTORS, cluster, cores, executing
from snellen.compute.pool import Shard, ShardFailed, background, each_result, map_ahead, map_shards, one_at_a_time
from snellen.compute.progress import Progress

__all__ = [
    "EXECUTORS",
    "Progress",
    "Shard",
    "ShardFailed",
    "background",
    "cluster",
    "cores",
    "each_result",
    "executing",
    "map_ahead",
    "map_shards",
    "one_at_a_time",
]
