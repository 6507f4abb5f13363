"""Training on several devices, or with weights and optimizer in main memory: torch's FSDP (`fully_shard`).

Processes are started by `torchrun`, which sets RANK, WORLD_SIZE and LOCAL_RANK. Each holds a part of the weights, and
gathers those of one layer at a time.

Imports torch: import it inside functions.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import distributed, nn
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

BACKENDS = {"cpu": "gloo", "cuda": "cpu:gloo,cuda:nccl"}
"""For tensors on the processor and on GPUs."""


def rank() -> int:
    """The number of this process, from 0; 0 without `torchrun`."""
    return int(os.environ.get("RANK", "0"))


def processes() -> int:
    """The number of processes; 1 without `torchrun`."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def own_device(device: str) -> str:
    """The device of this process: of several GPUs the one with its local number."""
    return f"cuda:{os.environ['LOCAL_RANK']}" if device == "cuda" and "LOCAL_RANK" in os.environ else device


def join(device: str) -> None:
    """Connect the processes, once. A single process connects to itself."""
    if distributed.is_initialized():
        return
    backend = BACKENDS[device.partition(":")[0]]
    if device.startswith("cuda"):
        torch.cuda.set_device(torch.device(own_device(device)).index or 0)
    if processes() > 1:
        distributed.init_process_group(backend)
    else:
        distributed.init_process_group(backend, rank=0, world_size=1, store=distributed.HashStore())


def shard(loss: nn.Module, model: Any, device: str, dtype: torch.dtype, *, offload: bool) -> None:
    """Divide the weights of a LLaVA among the processes, by layer; with `offload` they stay in main memory.

    `loss` is the module that is called, and holds the model. Computation is in `dtype`, gradients are added in float32.
    """
    mesh = distributed.init_device_mesh(device.partition(":")[0], (processes(),))
    precision = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    settings: dict[str, Any] = {"mesh": mesh, "mp_policy": precision}
    settings["offload_policy"] = CPUOffloadPolicy(pin_memory=device.startswith("cuda")) if offload else OffloadPolicy()
    for layer in model.model.language_model.layers:
        fully_shard(layer, **settings)
    fully_shard(model.model.vision_tower, **settings)
    fully_shard(loss, **settings)


def whole(tensor: torch.Tensor, device: str = "cpu") -> torch.Tensor:
    """The whole of a tensor that is divided among processes; every process must call this."""
    if not isinstance(tensor, DTensor):
        return tensor.detach()
    return tensor.detach().to(device).full_tensor().cpu()  # type: ignore[no-any-return]


def part_of(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """A whole tensor divided as another is; unchanged if that one is not divided."""
    if not isinstance(like, DTensor):
        return tensor.to(like.device)
    mesh = like.device_mesh
    divided: torch.Tensor = distribute_tensor(tensor.to(mesh.device_type), mesh, like.placements)
    return divided.to(like.to_local().device)


def added(tensor: torch.Tensor) -> torch.Tensor:
    """The sum of a tensor over all processes."""
    if processes() > 1:
        distributed.all_reduce(tensor)
    return tensor


def share(parts: list[Any], filler: Any) -> list[Any]:
    """The parts of this process: every n-th, and `filler` where others have one more."""
    count = processes()
    missing = -len(parts) % count
    return [*parts, *[filler] * missing][rank() :: count]


def wait() -> None:
    """Wait until all processes are here."""
    if processes() > 1:
        distributed.barrier()


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The weights by name that are trained, or this process's part of them."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def trained_weights(model: nn.Module, device: str) -> dict[str, torch.Tensor]:
    """The whole trained weights by name; every process must call this."""
    return {name: whole(weight, device) for name, weight in trainable(model).items()}
