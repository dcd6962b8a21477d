"""Environment variables that belong to one worker: the next one has its own, or none. `NAME_*` is every longer name.

A library that finds the rendezvous of an earlier worker waits there for ranks that never come, and one that finds an
earlier worker's device, interface or rank uses what is not its own. A worker keeps the values that it was started with.
"""

from __future__ import annotations

_OF_A_LAUNCH = {  # set by launchers such as torchrun, accelerate, Lightning and mpirun, and by pounce for a rank
    "where the ranks meet": (
        "MASTER_ADDR", "MASTER_PORT", "NCCL_COMM_ID", "TF_CONFIG", "JAX_COORDINATOR_*", "HOROVOD_GLOO_*"),
    "who of them this is": (
        "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "GROUP_WORLD_SIZE",
        "ROLE_RANK", "ROLE_NAME", "ROLE_WORLD_SIZE", "CROSS_RANK", "CROSS_SIZE", "LOCAL_SIZE", "JAX_PROCESS_ID",
        "JAX_NUM_PROCESSES", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_*", "HOROVOD_CROSS_*", "HOROVOD_HOSTNAME"),
    "the launcher itself": (
        "TORCHELASTIC_*", "FORK_LAUNCHED", "OMPI_*", "PMI_*", "PMI2_*", "PMIX_*", "MPI_LOCALRANKID",
        "MPI_LOCALNRANKS", "MV2_COMM_*"),
    "its node's network": (
        "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_HOSTID", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME",
        "UCX_NET_DEVICES"),
}
_OF_A_LEASE = {
    "the job": ("SLURM_*", "SLURMD_*", "SBATCH_*", "SRUN_*", "SALLOC_*", "POUNCE_*", "MUNGE_*"),
    "its devices": (
        "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_*", "HIP_*", "ZE_AFFINITY_MASK"),
    "its node": ("TMPDIR", "HOSTNAME"),
}


def _listed(table: dict[str, tuple[str, ...]]) -> tuple[frozenset[str], tuple[str, ...]]:
    every = [name for names in table.values() for name in names]
    return frozenset(name for name in every if name[-1] != "*"), tuple(name[:-1] for name in every if name[-1] == "*")


_LAUNCH, _LAUNCH_BEGINNINGS = _listed(_OF_A_LAUNCH)
_LEASE, _LEASE_BEGINNINGS = _listed(_OF_A_LEASE)


def is_of_a_launch(name: str) -> bool:
    return name in _LAUNCH or name.startswith(_LAUNCH_BEGINNINGS)


def is_of_one_worker(name: str) -> bool:
    return is_of_a_launch(name) or name in _LEASE or name.startswith(_LEASE_BEGINNINGS)
