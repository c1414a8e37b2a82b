"""Tables of a trace: tidy frames with units in the column names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO

import numpy as np
import pandas as pd

from attnviz.core.shuffling import Shuffled
from attnviz.core.trace import AttentionTrace
from attnviz.metrics import Measured, Survey, mean_over_queries, measure_label
from attnviz.metrics.ranks import COUNTS
from attnviz.metrics.roles import MIXED
from attnviz.metrics.spectra import LayerSpectra
from attnviz.metrics.sweep import Sweep
from attnviz.registries import METRICS, SPECTRA
from attnviz.registry import Entry, Spec
from attnviz.shapes import PerHead, PerQuery
from attnviz.steps.row import QueryRow


def column_name(metric: Entry[..., PerQuery]) -> str:
    """Name of a measure's column, with its unit.

    >>> column_name(METRICS["entropy"])
    'entropy_bits'
    """
    return f"{metric.name}_{metric.unit}" if metric.unit else metric.name


def head_summary(roles: Sequence[str], found: Survey) -> pd.DataFrame:
    """A row a head: what it is called, every measure beside its baseline, and the head most like it.

    Parameters
    ----------
    roles
        What each head is called; may be empty.
    found
        The measures, their baselines and the cosines.
    """
    n_heads = len(roles)
    columns: dict[str, object] = {"head": np.arange(n_heads), "role": role_names(roles)}
    for name, values in found.measures.items():
        column = column_name(METRICS[name])
        columns[column] = mean_over_queries(values)
        columns[f"{column}_uniform"] = np.broadcast_to(mean_over_queries(found.uniform[name]), (n_heads,))
    others = np.where(np.eye(n_heads, dtype=bool), -np.inf, found.cosine)
    alone = n_heads == 1
    columns["most_alike_head"] = pd.array([None] if alone else others.argmax(axis=1).tolist(), dtype="Int64")
    columns["most_alike_cosine"] = np.array([np.nan]) if alone else others.max(axis=1)
    return pd.DataFrame(columns)


def role_names(roles: Sequence[str]) -> list[str]:
    """What each head is called; a head without a name beside named ones is mixed."""
    return [role or MIXED for role in roles] if any(roles) else list(roles)


def measure_table(spec: Spec, roles: Sequence[str], found: Measured) -> tuple[pd.DataFrame, dict[str, str]]:
    """A row a head: the mean, least and largest of a measure over the queries, and the mean of the uniform head."""
    n_heads, metric = len(roles), METRICS[spec.name]
    unit, column = f" ({metric.unit})" if metric.unit else "", column_name(metric)
    defined = ~np.isnan(found.values)
    low, high = (np.where(defined, found.values, empty) for empty in (np.inf, -np.inf))
    ends = (
        (f"{column}_{name}", np.where(defined.any(axis=1), values, np.nan))
        for name, values in (("least", low.min(axis=1, initial=np.inf)), ("most", high.max(axis=1, initial=-np.inf)))
    )
    columns: dict[str, object] = {"head": np.arange(n_heads)}
    if any(roles):
        columns["role"] = role_names(roles)
    columns |= {
        column: mean_over_queries(found.values),
        f"{column}_uniform": np.broadcast_to(mean_over_queries(found.uniform), (n_heads,)),
        **dict(ends),
    }
    titles = ("Head", *(("Role",) if any(roles) else ()), f"{measure_label(spec)}{unit}", "uniform", "least", "most")
    return pd.DataFrame(columns), dict(zip(columns, titles, strict=True))


@dataclass(frozen=True, eq=False)
class MeasuredLayer:
    """A layer of which measures are known.

    Attributes
    ----------
    layer
        Which one it is.
    roles
        What each of its heads is called; may be empty.
    specs, found
        Measures, and what each gives.
    """

    layer: int
    roles: Sequence[str]
    specs: Sequence[Spec]
    found: Sequence[Measured]


def tidy_table(layers: Sequence[MeasuredLayer]) -> pd.DataFrame:
    """A row for each layer, head and measure: the mean over the queries beside that of the uniform head.

    Notes
    -----
    `measure` is what it is called, with its parameters, and `name` what `METRICS` has it under; NaN where it is not
    defined for any query.
    """
    each = [
        (one, METRICS[spec.name], measure_label(spec), found)
        for one in layers
        for spec, found in zip(one.specs, one.found, strict=True)
    ]
    values = [mean_over_queries(found.values) for *_, found in each]
    even = [mean_over_queries(found.uniform) for *_, found in each]
    n_heads = [len(one.roles) for one, *_ in each]
    return pd.DataFrame(
        {
            "layer": np.repeat([one.layer for one, *_ in each], n_heads),
            "head": np.concatenate([np.arange(count) for count in n_heads]),
            "role": [role for one, *_ in each for role in one.roles],
            "measure": np.repeat([label for _, _, label, _ in each], n_heads),
            "value": np.concatenate(values),
            "baseline": np.concatenate([np.broadcast_to(*pair) for pair in zip(even, n_heads, strict=True)]),
            "unit": np.repeat([metric.unit for _, metric, *_ in each], n_heads),
            "source": np.repeat([metric.source for _, metric, *_ in each], n_heads),
            "name": np.repeat([metric.name for _, metric, *_ in each], n_heads),
        }
    )


def as_parquet(frame: pd.DataFrame) -> bytes:
    """A table as a Parquet file."""
    file = BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """The same table with three significant digits.

    >>> rounded(pd.DataFrame({"head": [0, 1], "value": [0.123456, 1234.5]}))["value"].tolist()
    [0.123, 1230.0]
    """
    numbers = frame.select_dtypes("float")
    digits = np.floor(np.log10(np.abs(numbers.where(numbers != 0, 1.0))))
    step = 10.0 ** (2 - digits)
    return frame.assign(**{str(name): np.round(numbers[name] * step[name]) / step[name] for name in numbers})


def rank_table(
    roles: Sequence[str], found: LayerSpectra, more: Mapping[str, tuple[str, PerHead]]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """A row a head: every measure of singular values, of its scores, its weights and the uniform head's.

    Parameters
    ----------
    roles
        What each head is called; may be empty.
    found
        Singular values of scores and weights.
    more
        Headings and values of further columns, by their names.
    """
    n_heads = len(roles)
    columns: dict[str, object] = {"head": np.arange(n_heads)}
    labels = {"head": "Head"}
    if any(roles):
        columns["role"], labels["role"] = role_names(roles), "Role"
    for start, before, spectra in (("score", "Scores: ", found.scores), ("weight", "Weights: ", found.weights)):
        for entry in SPECTRA:
            name = f"{start}_{entry.name}"
            columns[name] = _counted(entry.name, entry.function(spectra))
            labels[name] = f"{before}{entry.label[:1].lower()}{entry.label[1:]}"
            if start == "weight":
                even = np.broadcast_to(entry.function(found.uniform), (n_heads,))
                columns[f"{name}_uniform"] = _counted(entry.name, even)
                labels[f"{name}_uniform"] = "uniform"
    for name, (heading, values) in more.items():
        columns[name], labels[name] = values, heading
    return pd.DataFrame(columns), labels


def _counted(name: str, values: PerHead) -> object:
    """Values of a measure of singular values, as whole numbers where they count something."""
    if name not in COUNTS:
        return values
    return pd.array([None if np.isnan(value) else int(value) for value in values], dtype="Int64")


SWEEP_LABELS = {
    "n_heads": "Heads",
    "d_head": "d_head",
    "rank_bound": "Most directions",
    "score_rank": "Scores: rank",
    "weight_rank": "Weights: rank",
    "score_effective_rank": "Scores: effective rank",
    "weight_effective_rank": "Weights: effective rank",
    "uniform_effective_rank": "uniform",
    "entropy_share": "Entropy (share)",
    "uniform_entropy_share": "uniform",
    "mean_cosine": "Cosine",
    "n_pairs": "Pairs",
    "n_alike_pairs": "Pairs above 0.9",
    "n_parameters": "Parameters",
    "score_flops": "Scores (FLOP)",
    "weight_bytes": "Weights (bytes)",
}


def sweep_table(found: Sweep) -> tuple[pd.DataFrame, dict[str, str]]:
    """A row a number of heads, and the headings of the columns."""
    return pd.DataFrame([asdict(point) for point in found.points], columns=list(SWEEP_LABELS)), dict(SWEEP_LABELS)


@dataclass(frozen=True)
class CellSummary:
    """One pair of a query and a key.

    Attributes
    ----------
    allowed
        Whether the mask allows the pair.
    score, bias
        Query times key times the scale, and what the position method adds.
    weight, rank
        The weight, and its place among the query's allowed keys, 1 the largest; None for a forbidden pair.
    allowed_keys
        Keys that the query may attend to.
    ties
        Other allowed keys with the same weight, to a millionth of it.
    """

    allowed: bool
    score: float
    bias: float
    weight: float | None
    rank: int | None
    allowed_keys: int
    ties: int


def cell_summary(trace: AttentionTrace, head: int, query: int, key: int) -> CellSummary:
    """Score, bias, weight and rank of one cell."""
    weights, row_mask = trace.row(head, query)
    allowed = bool(row_mask[key])
    return CellSummary(
        allowed=allowed,
        score=float(trace.row_of_scores(head, query)[key]),
        bias=float(trace.row_of_bias(head, query)[key]),
        weight=float(weights[key]) if allowed else None,
        rank=int((weights[row_mask] > weights[key]).sum()) + 1 if allowed else None,
        allowed_keys=int(row_mask.sum()),
        ties=int(np.isclose(weights[row_mask], weights[key], rtol=1e-6, atol=0).sum()) - 1 if allowed else 0,
    )


def row_table(row: QueryRow) -> tuple[pd.DataFrame, dict[str, str]]:
    """One query against every key, from the product to the weight, and the headings of the columns."""
    columns: dict[str, tuple[str, object]] = {
        "key": ("Key", np.arange(len(row.tokens))),
        "token": ("Token", list(row.tokens)),
        "weight": ("Weight", row.weights),
        "product": ("q · k", row.products),
        "score": ("Score", row.scores),
        "capped_score": ("Capped", row.capped),
        "bias": ("Bias", row.bias),
        "allowed": ("Allowed", np.where(row.allowed, "yes", "no")),
        "masked_score": ("Masked", np.where(row.allowed, row.masked, -np.inf)),
        "exponential": ("Exponential", row.exponentials),
        "weight_after_dropout": ("After dropout", row.after_dropout),
    }
    there = {name: pair for name, pair in columns.items() if pair[1] is not None}
    labels = {name: label for name, (label, _) in there.items()}
    return pd.DataFrame({name: values for name, (_, values) in there.items()}), labels


def shuffled_table(found: Shuffled, *, has_positions: bool, has_mask: bool) -> tuple[pd.DataFrame, dict[str, str]]:
    """Relative change of each token's output in another order, no unit, and the headings of the columns."""
    columns: dict[str, object] = {"place": np.arange(len(found.outputs_of)), "token": list(found.outputs_of)}
    labels = {"place": "Place", "token": "Token"}
    for name, label, change, is_worth in (
        ("with_positions", "With positions", found.with_positions, has_positions),
        ("mask_alone", "No positions, same mask", found.without_positions, has_mask),
        ("neither", "No positions, no mask", found.without_either, True),
    ):
        if is_worth:
            columns[name], labels[name] = change, label
    return pd.DataFrame(columns), labels
