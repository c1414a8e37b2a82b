"""What the statistics of a long input cost when no whole map is ever held: CPU time a weight, extra memory, exactness.

Run from the repository's root: `python benchmarks/streaming.py`. Writes `benchmarks/results_streaming.md`.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
from kernel import kernel, processor, without_blas_settings

from attnviz.core.pairs import pairs_of
from attnviz.core.rows import Rows, streamed
from attnviz.core.tiles import leave_threads_to_tiles, scorer
from attnviz.metrics.patterns import entropy, first_key, largest_weight, mean_distance, top_mass
from attnviz.metrics.pooling import Pool, Window

HEADS, D_HEAD = 8, 64
LENGTHS = (8192, 16_384, 32_768)
CHECKED = 64
RESULTS = Path(__file__).with_name("results_streaming.md")


def measured(length: int) -> str:
    """One row of the table: entropy, distance, top-5 mass, first key, largest weight, column mass and small maps."""
    leave_threads_to_tiles()
    rng = np.random.default_rng(length)
    query, key = (0.5 * rng.standard_normal((HEADS, length, D_HEAD), dtype=np.float32) for _ in range(2))
    pairs = pairs_of(length, length, None, None)
    made = scorer(query, key, scale=D_HEAD**-0.5, pairs=pairs, softcap=None, sinks=None)
    pool = Pool(HEADS, Window(0, length, 0, length), 128)
    received, bits = np.zeros((HEADS, length)), np.empty((HEADS, length))

    def work(rows: Rows, which: range) -> tuple[object, ...]:
        measures = [measure(rows) for measure in (entropy, mean_distance, top_mass, first_key, largest_weight)]
        ones = np.ones((1, len(which)), dtype=np.float32)
        return which, measures, np.matmul(ones, rows.weights)[:, 0], pool.pooled(rows, which.start)

    before, start, cpu = psutil.Process().memory_info().rss, time.perf_counter(), time.process_time()
    for which, measures, column_mass, part in streamed(made, work):
        bits[:, which.start : which.stop] = measures[0]
        received += column_mass
        pool.add(part)
    seconds, spent = time.perf_counter() - start, time.process_time() - cpu
    extra = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before / 2**20

    scores = query[0, :CHECKED].astype(np.float64) @ key[0].astype(np.float64).T * D_HEAD**-0.5
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    exact = -(weights * np.log(weights)).sum(axis=1)
    error = np.abs(bits[0, :CHECKED] * np.log(2) - exact).max()
    a_weight = 1e9 * spent / (HEADS * length**2)
    return f"| {length} | {seconds:.1f} | {a_weight:.2f} | 4 | {extra:.0f} | 150 | {error:.0e} | 1e-05 |"


def main() -> None:
    if len(sys.argv) > 1:
        print(measured(int(sys.argv[1])))
        return
    without_blas_settings()
    command = [sys.executable, __file__]
    rows = [
        subprocess.run([*command, str(length)], check=True, capture_output=True, text=True).stdout.strip()
        for length in LENGTHS
    ]
    text = [
        "# Results of the streaming benchmark",
        "",
        "Entropy, mean distance, top-5 mass, weight on the first key, largest weight, column mass and maps of 128 "
        f"cells a side of {HEADS} heads of {D_HEAD} columns in float32. Error: of the entropy (nats), against float64.",
        f"Python {platform.python_version()}, NumPy {np.__version__}, {kernel()}, {processor()}, "
        f"{os.cpu_count()} processors.",
        "",
        "| length | seconds | CPU a weight (ns) | target | extra memory (MB) | target | error | target |",
        "|---|---|---|---|---|---|---|---|",
        *rows,
        "",
    ]
    RESULTS.write_text("\n".join(text), encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
