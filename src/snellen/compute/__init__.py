"""Work in independent shards: a local process pool and its progress line."""

from snellen.compute.pool import Shard, ShardFailed, map_ahead, map_shards
from snellen.compute.progress import Progress

__all__ = ["Progress", "Shard", "ShardFailed", "map_ahead", "map_shards"]
