#!/usr/bin/python3
"""What zstd at level 1 would gain for data as people send it: its ratio, and its rate on one core, by processor time.

    tests/bench/compression.py [--mib 64]

Needs the program zstd and numpy. Then for each network that pays there: how much faster the bytes arrive if one core compresses
and one decompresses while they are sent, against sending them as they are.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import tempfile
from pathlib import Path

import numpy as np

NETWORKS = {"1 Gb/s": 0.117, "10 Gb/s": 1.2}  # GB/s of data
ROUNDS = 3


def kinds(nbytes: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    floats = nbytes // 4
    rows = rng.lognormal(0, 0.5, (4096, 1)).astype("f4") * 0.02
    weights = rng.standard_normal((4096, floats // 4096), dtype="f4") * rows
    sparse = np.where(rng.random(floats) < 0.05, rng.standard_normal(floats, dtype="f4"), np.float32(0))
    tokens = np.minimum(rng.zipf(1.2, nbytes // 8), 50_256)
    return {"float32, random": rng.standard_normal(floats, dtype="f4"), "float32, weights of a layer": weights,
            "bfloat16, the same weights": (weights.view("u4") >> 16).astype("u2"), "uint8, images": images(nbytes, rng),
            "int64, text as tokens": tokens, "int32, text as tokens": np.tile(tokens.astype("i4"), 2),
            "float32, 95 % zeros": sparse}


def images(nbytes: int, rng: np.random.Generator, side: int = 224) -> np.ndarray:
    """Smooth surfaces with edges and the noise of a camera."""
    y, x = np.mgrid[0:side, 0:side] / side

    def one() -> np.ndarray:
        image = np.full((side, side, 3), 128.0)
        for _ in range(6):
            across, down, phase = rng.uniform(0, 8), rng.uniform(0, 8), rng.uniform(0, 6.3)
            image += rng.uniform(10, 40) * np.sin(6.3 * (across * x + down * y) + phase)[..., None] * rng.uniform(0.5, 1, 3)
        for _ in range(8):
            (top, bottom), (left, right) = np.sort(rng.integers(0, side, (2, 2)))
            image[top:bottom, left:right] += rng.uniform(-60, 60, 3)
        return np.clip(image + rng.normal(0, 4, image.shape), 0, 255).astype("u1").ravel()

    return np.concatenate([one() for _ in range(nbytes // (3 * side * side) + 1)])[:nbytes]


def processor_s(words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(data: np.ndarray, folder: Path) -> dict:
    plain, packed = folder / "plain", folder / "plain.zst"
    data.tofile(plain)
    zstd = ["zstd", "-q", "-f", "--single-thread"]
    there = min(processor_s([*zstd, "-1", str(plain), "-o", str(packed)]) for _ in range(ROUNDS))
    back = min(processor_s([*zstd, "-d", "-c", str(packed)]) for _ in range(ROUNDS))
    size = plain.stat().st_size
    ratio, compress, decompress = size / packed.stat().st_size, size / 1e9 / there, size / 1e9 / back
    gains = {name: min(compress, decompress, rate * ratio) / rate for name, rate in NETWORKS.items()}
    return {"ratio": round(ratio, 2), "compress_gb_s": round(compress, 2), "decompress_gb_s": round(decompress, 2),
            "gain": {name: round(gain, 2) for name, gain in gains.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description="What zstd at level 1 would gain.")
    parser.add_argument("--mib", type=int, default=64)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for name, data in kinds(parser.parse_args().mib * 2**20).items():
            print(json.dumps({"data": name, **measured(data, Path(folder))}), flush=True)


if __name__ == "__main__":
    main()
