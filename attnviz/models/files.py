"""Finding the files of a trained model on this machine, and checking that they are the published ones.

Nothing is downloaded, and a package that carries weights is read as files, never imported.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from attnviz.errors import ModelUnavailableError, broken_rule
from attnviz.models.description import TrainedModel

WEIGHTS, TOKENIZER, CONFIG = NAMES = ("model.safetensors", "tokenizer.json", "config.json")


@dataclass(frozen=True)
class ModelFiles:
    """The three files of a model, and what tells whether the weights were exchanged since."""

    weights: Path
    tokenizer: Path
    config: Path
    modified_ns: int
    n_bytes: int


def find_files(model: TrainedModel) -> ModelFiles:
    """The model's files: from the folder a person named, else an installed package, else a Hugging Face cache.

    Raises
    ------
    ModelUnavailableError
        If they are in none of these, or the folder a person named lacks one.
    """
    named = os.environ.get(model.folder_variable)
    if named:
        folder = Path(named).expanduser()
        missing = _missing(folder)
        if missing:
            raise ModelUnavailableError(
                broken_rule(
                    model.folder_variable,
                    f"must name a folder with {', '.join(NAMES)}",
                    f"a folder without {', '.join(missing)}",
                    f"Correct it, or unset it and {model.install}.",
                )
            )
        return _files_in(folder)
    for folder in (*_package_folders(model), *_hub_folders(model)):
        if not _missing(folder):
            return _files_in(folder)
    raise ModelUnavailableError(f"The weights of {model.label} are not on this machine: {model.how_to_get}")


def check_weights(model: TrainedModel, files: ModelFiles) -> None:
    """Refuse weights that are not the published ones; a file is hashed once per process unless it changes.

    Raises
    ------
    ModelUnavailableError
        With the start of both digests.
    """
    found = _sha256(files)
    if found != model.sha256:
        raise ModelUnavailableError(
            broken_rule(
                WEIGHTS,
                f"must be the published weights of {model.label}, SHA-256 {model.sha256[:12]}…",
                f"SHA-256 {found[:12]}…",
                f"Replace the file: {model.how_to_get}",
            )
        )


@lru_cache(maxsize=8)
def _sha256(files: ModelFiles) -> str:
    with files.weights.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _missing(folder: Path) -> list[str]:
    return [name for name in NAMES if not (folder / name).is_file()]


def _files_in(folder: Path) -> ModelFiles:
    weights = folder / WEIGHTS
    status = weights.stat()
    return ModelFiles(weights, folder / TOKENIZER, folder / CONFIG, status.st_mtime_ns, status.st_size)


def _package_folders(model: TrainedModel) -> Iterator[Path]:
    try:
        package = distribution(model.package)
    except PackageNotFoundError:
        return
    for file in package.files or ():
        if file.name == WEIGHTS:
            yield Path(str(package.locate_file(file))).parent


def _hub_folders(model: TrainedModel) -> list[Path]:
    cache = os.environ.get("HF_HUB_CACHE")
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    hub = Path(cache) if cache else Path(home) / "hub"
    return sorted((hub.expanduser() / model.hub_name / "snapshots").glob("*"))
