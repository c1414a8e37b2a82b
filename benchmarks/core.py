"""How fast the attention core is beside PyTorch and beside attention as a lesson writes it, as ratios of one run.

Run from the repository's root: `python benchmarks/core.py`. Writes `benchmarks/results_core.md`.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from kernel import kernel, processor, without_blas_settings

from attnviz import merge_heads, scaled_dot_product_attention, split_heads
from attnviz.core.pairs import pairs_of
from attnviz.core.rows import Rows, rows_of, streamed
from attnviz.core.tiles import scorer
from attnviz.metrics.patterns import entropy, largest_weight, mean_distance, top_mass
from attnviz.metrics.similarity import cosine_of_maps

HEADS, D_HEAD = 8, 64
LENGTHS = (64, 256, 512, 1024, 2048)
SECONDS = 2.0
RESULTS = Path(__file__).with_name("results_core.md")
CAUSAL_LENGTH = 2048
LAB_HEADS, LAB_LENGTH = 16, 512


@dataclass(frozen=True)
class Row:
    """One comparison: ours and the peer's milliseconds, and how many times the peer's time ours should fit in."""

    what: str
    length: int
    threads: int
    ours_ms: float
    peer_ms: float
    target: str

    def __str__(self) -> str:
        times = self.peer_ms / self.ours_ms
        return (
            f"| {self.what} | {self.length} | {self.threads} | {self.ours_ms:.2f} | {self.peer_ms:.2f} | "
            f"{times:.2f} | {self.target} |"
        )


def raced(ours: Callable[[], object], peer: Callable[[], object]) -> tuple[float, float]:
    """Median milliseconds of both, measured in turn so that whatever disturbs one disturbs the other."""
    times: tuple[list[float], list[float]] = ([], [])
    deadline = time.perf_counter() + SECONDS
    for work in (ours, peer):
        work()
    while time.perf_counter() < deadline or len(times[0]) < 3:
        for work, found in zip((ours, peer), times, strict=True):
            start = time.perf_counter()
            work()
            found.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[0]), statistics.median(times[1])


def attention_rows(length: int, threads: int) -> list[Row]:
    """Attention alone, with weights and context, beside the eager and the fused form of PyTorch."""
    rng = np.random.default_rng(length)
    query, key, value = (0.5 * rng.standard_normal((HEADS, length, D_HEAD), dtype=np.float32) for _ in range(3))
    q, k, v = (torch.from_numpy(array)[None] for array in (query, key, value))
    weights, context = torch.empty(1, HEADS, length, length), torch.empty(1, HEADS, length, D_HEAD)

    room = np.empty((HEADS, length, length), np.float32), np.empty((HEADS, length, D_HEAD), np.float32)

    def ours() -> object:
        return scaled_dot_product_attention(query, key, value, out=room)

    def eager() -> object:
        torch.matmul(q * D_HEAD**-0.5, k.transpose(-1, -2), out=weights)
        torch.softmax(weights, dim=-1, out=weights)
        return torch.matmul(weights, v, out=context)

    def fused() -> object:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    def products() -> object:
        for one_query, one_key, one_value, made, summed in zip(query, key, value, *room, strict=True):
            np.matmul(one_query, one_key.T, out=made)
            np.matmul(made, one_value, out=summed)
        return room

    wanted = "1.3" if length >= 512 else "–"
    return [
        Row("the two matrix products alone, no softmax / eager PyTorch", length, threads, *raced(products, eager), "–"),
        Row("the two matrix products alone, no softmax / fused SDPA", length, threads, *raced(products, fused), "–"),
        Row("attention / eager PyTorch into given arrays", length, threads, *raced(ours, eager), "1.6"),
        Row("attention with weights / fused SDPA without", length, threads, *raced(ours, fused), wanted),
    ]


def layer_row(length: int, threads: int) -> Row:
    """A whole layer with its projections beside `nn.MultiheadAttention`, which also returns the weights."""
    d_model = HEADS * D_HEAD
    rng = np.random.default_rng(length)
    x = rng.standard_normal((length, d_model), dtype=np.float32)
    matrices = [rng.standard_normal((d_model, d_model), dtype=np.float32) / np.sqrt(d_model) for _ in range(4)]
    matrices = [matrix.astype(np.float32) for matrix in matrices]
    layer = torch.nn.MultiheadAttention(d_model, HEADS, batch_first=True).eval()
    tensor = torch.from_numpy(x)[None]

    def ours() -> object:
        query, key, value = (split_heads(x @ matrix, HEADS) for matrix in matrices[:3])
        attention = scaled_dot_product_attention(query, key, value)
        return merge_heads(attention.context) @ matrices[3]

    def peer() -> object:
        return layer(tensor, tensor, tensor, need_weights=True, average_attn_weights=False)

    return Row("whole layer / nn.MultiheadAttention", length, threads, *raced(ours, peer), "1.9")


def statistics_row(length: int, threads: int) -> Row:
    """Entropy, mean distance, top-5 mass and largest weight of every query, beside PyTorch with the whole maps."""
    rng = np.random.default_rng(length)
    query, key = (0.5 * rng.standard_normal((HEADS, length, D_HEAD), dtype=np.float32) for _ in range(2))
    q, k = (torch.from_numpy(array)[None] for array in (query, key))
    place = torch.arange(length, dtype=torch.float32)
    distance = (place[:, None] - place[None, :]).abs()

    def measured(rows: Rows, which: range) -> object:
        return which, entropy(rows), mean_distance(rows), top_mass(rows), largest_weight(rows)

    def ours() -> object:
        pairs = pairs_of(length, length, None, None)
        made = scorer(query, key, scale=D_HEAD**-0.5, pairs=pairs, softcap=None, sinks=None)
        return list(streamed(made, measured))

    def eager() -> object:
        weights = torch.softmax(q @ k.transpose(-1, -2) * D_HEAD**-0.5, dim=-1)
        nats = -(weights * weights.clamp_min(1e-30).log()).sum(-1)
        return nats, (weights * distance).sum(-1), weights.topk(5, dim=-1).values.sum(-1), weights.amax(-1)

    wanted = "6" if length >= 1024 else "–"
    return Row("four statistics / eager PyTorch with them", length, threads, *raced(ours, eager), wanted)


def causal_row(threads: int) -> Row:
    """A causal mask beside none."""
    rng = np.random.default_rng(0)
    arrays = [0.5 * rng.standard_normal((HEADS, CAUSAL_LENGTH, D_HEAD), dtype=np.float32) for _ in range(3)]
    mask = np.tri(CAUSAL_LENGTH, dtype=bool)
    room = np.empty((HEADS, CAUSAL_LENGTH, CAUSAL_LENGTH), np.float32), np.empty_like(arrays[0])
    causal, dense = raced(
        lambda: scaled_dot_product_attention(*arrays, mask=mask, out=room),
        lambda: scaled_dot_product_attention(*arrays, out=room),
    )
    return Row("causal / dense (both ours)", CAUSAL_LENGTH, threads, causal, dense, "1.33")


def lab_rows(threads: int) -> list[Row]:
    """Attention, distance and similarity beside the plain forms that a lesson would write."""
    rng = np.random.default_rng(0)
    query, key, value = (0.5 * rng.standard_normal((LAB_HEADS, LAB_LENGTH, D_HEAD)) for _ in range(3))
    weights = scaled_dot_product_attention(query, key, value).weights
    mask = np.ones((1, LAB_LENGTH, LAB_LENGTH), dtype=bool)

    def plain_attention() -> object:
        scores = np.einsum("hqd,hkd->hqk", query, key) / np.sqrt(D_HEAD)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.einsum("hqk,hkd->hqd", powers / powers.sum(axis=-1, keepdims=True), value)

    def plain_distance() -> object:
        return [
            sum(weights[head, q, k] * abs(q - k) for k in range(LAB_LENGTH))
            for head in range(LAB_HEADS)
            for q in range(LAB_LENGTH)
        ]

    def plain_similarity() -> object:
        flat = weights.reshape(LAB_HEADS, -1)
        return [
            [sum(a * b for a, b in zip(one.tolist(), other.tolist(), strict=True)) for other in flat]
            for one in flat[:1]
        ]

    return [
        Row(
            "attention / plain NumPy",
            LAB_LENGTH,
            threads,
            *raced(lambda: scaled_dot_product_attention(query, key, value), plain_attention),
            "2",
        ),
        Row(
            "mean distance / loops",
            LAB_LENGTH,
            threads,
            *raced(lambda: mean_distance(rows_of(weights, mask)), plain_distance),
            "50",
        ),
        Row(
            "cosine of all pairs / loops over the pairs of one head",
            LAB_LENGTH,
            threads,
            *raced(lambda: cosine_of_maps(weights), plain_similarity),
            "50",
        ),
    ]


def measured(threads: int) -> list[str]:
    """All rows for one number of threads, in a process that has so many processors from its start."""
    torch.set_num_threads(threads)
    rows: list[Row] = []
    with torch.no_grad():
        for length in LENGTHS:
            rows += [*attention_rows(length, threads), layer_row(length, threads), statistics_row(length, threads)]
        rows.append(causal_row(threads))
    return [str(row) for row in (*rows, *(lab_rows(threads) if threads > 1 else ()))]


def main() -> None:
    if "--kernel-of-environment" not in sys.argv:
        without_blas_settings()
    if "--threads" in sys.argv:
        print(*measured(int(sys.argv[sys.argv.index("--threads") + 1])), sep="\n")
        return
    everywhere = sorted(os.sched_getaffinity(0))
    rows: list[str] = []
    for threads in (1, 2):
        command = [sys.executable, *sys.argv, "--threads", str(threads)]
        keep = partial(os.sched_setaffinity, 0, everywhere[:threads])
        done = subprocess.run(command, check=True, capture_output=True, text=True, preexec_fn=keep)
        rows += done.stdout.splitlines()
        print(done.stdout, flush=True)
    text = [
        "# Results of the core's benchmark",
        "",
        f"{HEADS} heads of {D_HEAD} columns in float32; the last rows {LAB_HEADS} heads in float64. Median times.",
        f"Python {platform.python_version()}, NumPy {np.__version__}, {kernel()}, PyTorch {torch.__version__}, "
        f"{processor()}, {len(everywhere)} processors. “Times”: how often our time fits into the other.",
        "",
        "| comparison | length | threads | ours (ms) | other (ms) | times | target |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
    ]
    RESULTS.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
