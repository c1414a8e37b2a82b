"""Which BLAS kernel is measured."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from threadpoolctl import threadpool_info


def kernel() -> str:
    """Which BLAS kernel NumPy uses."""
    return ", ".join(
        f"{info['internal_api']} {info.get('version')} {info.get('architecture')}"
        for info in threadpool_info()
        if info["user_api"] == "blas"
    )


def processor() -> str:
    """The processor's name, and whether it has AVX-512, without which NumPy's exponential is several times slower."""
    told = Path("/proc/cpuinfo")
    text = told.read_text(encoding="utf-8") if told.exists() else ""
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return f"{names[0] if names else 'processor unknown'} {'with' if 'avx512f' in text else 'without'} AVX-512"


def without_blas_settings() -> None:
    """Start again without the environment's own choice of a BLAS kernel."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    if len(clean) < len(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.argv], clean)
