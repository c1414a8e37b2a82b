"""Whether heads that look alike write the same, in words computed from the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnviz.figures.alike_words import TIE, heads_named, number, undefined_answer
from attnviz.metrics.contrast import HeadPair, HeadsByPair
from attnviz.numbers import counted, percent, significant

MOSTLY, PARTLY = 0.7, 0.3


def pair_answer(pairs: HeadsByPair, names: Sequence[str]) -> str:
    """How far looks tell what is written, and the two pairs that contrast most, with both numbers and both baselines.

    Parameters
    ----------
    pairs
        Every pair of heads.
    names
        What each head is called.

    Notes
    -----
    A rank correlation from 0.7 on is called mostly, one from 0.3 on in part, one below −0.3 the reverse.
    """
    return f"{_answer(pairs, names)} {left_out_answer(pairs, names)}".rstrip()


def left_out_answer(pairs: HeadsByPair, names: Sequence[str]) -> str:
    """Which heads are in no pair, and why, in a sentence; empty where all are."""
    sentence = undefined_answer(pairs.left_out, names, pairs.reason, "CKA")
    is_or_are = "is" if len(pairs.left_out) == 1 else "are"
    return sentence and f"{sentence.removesuffix('.')} and {is_or_are} left out."


def _answer(pairs: HeadsByPair, names: Sequence[str]) -> str:
    if len(pairs) == 1:
        return f"There is one pair: {_numbers(pairs.of(0))}.{_even(pairs)}"
    if np.ptp(pairs.outputs) < TIE:
        return f"All pairs write equally alike (CKA of outputs {number(float(pairs.outputs[0]))}).{_even(pairs)}"
    if np.ptp(pairs.maps) < TIE:
        return f"All pairs look equally alike (cosine of maps {number(float(pairs.maps[0]))}).{_even(pairs)}"
    correlation = pairs.correlation
    answer = (
        f"{_verdict(correlation)}: rank correlation {number(correlation)} over {counted(len(pairs), 'pair')} "
        "(1: the more alike two heads look, the more alike they write; 0: one says nothing of the other)."
    )
    return f"{answer}{_contrast(pairs, names)}{_even(pairs)}"


def _verdict(correlation: float) -> str:
    if correlation >= MOSTLY:
        return "Mostly"
    if correlation >= PARTLY:
        return "In part"
    return "Hardly" if correlation > -PARTLY else "Rather the reverse"


def _contrast(pairs: HeadsByPair, names: Sequence[str]) -> str:
    found = pairs.contrast
    if found is None:
        return ""
    same_maps, same_outputs = (pairs.of(place) for place in found)
    one, other = (heads_named(names[pair.first], names[pair.second]) for pair in (same_maps, same_outputs))
    return (
        f" A: {one} look more alike than {percent(same_maps.maps_above)} of the other pairs "
        f"(cosine of maps {number(same_maps.maps)}), yet write less alike than {percent(same_maps.outputs_below)} "
        f"(CKA of outputs {number(same_maps.outputs)}). B, the reverse: {other} look less alike than "
        f"{percent(same_outputs.maps_below)} (cosine {number(same_outputs.maps)}), yet write more alike than "
        f"{percent(same_outputs.outputs_above)} (CKA {number(same_outputs.outputs)})."
    )


def _numbers(pair: HeadPair) -> str:
    return f"cosine of maps {number(pair.maps)}, CKA of outputs {number(pair.outputs)}"


def _even(pairs: HeadsByPair) -> str:
    parts = [
        f"{name} {number(even)}"
        for name, even in (("cosine", pairs.even_maps), ("CKA", pairs.even_outputs))
        if not np.isnan(even)
    ]
    return f" {'Baselines' if parts[1:] else 'Baseline'}: {', '.join(parts)}." if parts else ""


def pair_alt(pairs: HeadsByPair) -> str:
    """Alt text of the picture of pairs."""
    ends = [
        f"{name} from {significant(float(values.min()))} to {significant(float(values.max()))}"
        for name, values in (("cosine of maps", pairs.maps), ("CKA of outputs", pairs.outputs))
    ]
    return f"{counted(len(pairs), 'pair')} of heads as points: {', '.join(ends)}."
