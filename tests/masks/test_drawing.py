"""A mask that a person draws: its text, its lines, and what happens on other lengths."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attnviz.errors import AttnvizError, SettingError
from attnviz.link import from_query
from attnviz.masks import build_mask, decode_drawing, drawing_of, encode_drawing, toggled
from attnviz.masks.drawing import LINES, LONGEST_DRAWING
from attnviz.registries import MASKS
from attnviz.scenario import Scenario
from tests.strategies import lengths, mask_specs, seeds

drawings = st.integers(1, 64).flatmap(lambda side: arrays(bool, (side, side)))


@given(drawings)
def test_a_drawing_comes_back_from_its_text(mask: np.ndarray) -> None:
    text = encode_drawing(mask)

    assert len(text) <= LONGEST_DRAWING
    np.testing.assert_array_equal(decode_drawing(text), mask)


@given(seeds)
def test_the_densest_drawing_of_64_tokens_is_short_enough_for_a_link(seed: int) -> None:
    mask = np.random.default_rng(seed).random((64, 64)) < 0.5
    text = encode_drawing(mask)

    assert len(text) == 3 + 683
    scenario = Scenario(mask=MASKS["drawn"].spec(drawing=text))
    assert from_query(scenario.to_query()) == (scenario, [])
    np.testing.assert_array_equal(build_mask([scenario.mask], 64, 64), mask)


def test_a_regular_drawing_is_compressed() -> None:
    assert len(encode_drawing(np.tri(64, dtype=bool))) < 300
    assert encode_drawing(np.zeros((64, 64), dtype=bool)).startswith("64z")


def test_the_text_has_the_side_first_and_then_a_bit_for_each_cell() -> None:
    assert encode_drawing(np.eye(2, dtype=bool)) == "2-" + base64.b64encode(bytes([0b1001_0000])).decode().rstrip("=")


def test_the_usual_drawing_is_the_triangle_of_the_usual_sentence() -> None:
    np.testing.assert_array_equal(build_mask([MASKS["drawn"].spec()], 11, 11), np.tri(11, dtype=bool))
    assert MASKS["drawn"].spec()["drawing"] == encode_drawing(np.tri(11, dtype=bool))


def packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "that starts with its side, then - or z; got nothing."),
        ("x", "that starts with its side, then - or z; got"),
        ("0-", "that starts with its side, then - or z; got"),
        ("3_m4A", "that starts with its side, then - or z; got"),
        ("3-m4A=", "that starts with its side, then - or z; got"),
        ("3-m4A\n", "that starts with its side, then - or z; got"),
        ("٣-m4A", "that starts with its side, then - or z; got"),
        ("65-", "of at most 64 rows; got"),
        ("3-m4", "with all its letters: 2 bytes for 3 rows; got"),
        ("3-m4AA", "with all its letters: 2 bytes for 3 rows; got"),
        ("3-m", "with all its letters; got"),
        ("3zm4A", "with all its letters; got"),
        (f"3z{packed(bytes(3))}", "with all its letters: 2 bytes for 3 rows; got"),
        (f"64z{packed(bytes(400_000))}", "with all its letters: 512 bytes for 64 rows; got"),
    ],
)
def test_what_is_no_drawing_is_refused_in_words(text: str, rule: str) -> None:
    with pytest.raises(SettingError) as refused:
        MASKS["drawn"].spec(drawing=text)

    assert str(refused.value).startswith(f"`drawing` must be a drawing {rule}")
    assert str(refused.value).endswith("Try 11-gBgDgHgPgfg_h_j_n_v_gA.")


def test_a_drawing_longer_than_any_is_refused_before_it_is_read() -> None:
    with pytest.raises(SettingError, match="`drawing` must be a text of at most 700 characters; got 70,002 characters"):
        MASKS["drawn"].spec(drawing="3-" + "A" * 70_000)


def drawing_or_problem(text: str) -> np.ndarray | str:
    try:
        return decode_drawing(text)
    except SettingError as refused:
        return str(refused)


@given(st.text(max_size=80) | st.from_regex(r"[1-9][0-9]?[-z][A-Za-z0-9_-]{0,40}", fullmatch=True))
def test_any_text_is_a_drawing_or_refused_in_a_short_sentence(text: str) -> None:
    read = drawing_or_problem(text)

    if isinstance(read, str):
        assert read.startswith("`drawing` must be a drawing ")
        assert len(read) < 200
    else:
        np.testing.assert_array_equal(decode_drawing(encode_drawing(read)), read)


@given(drawings, lengths, lengths)
def test_on_another_length_the_upper_left_corner_is_used_and_all_outside_is_forbidden(
    mask: np.ndarray, n_q: int, n_k: int
) -> None:
    allowed = build_mask([MASKS["drawn"].spec(drawing=encode_drawing(mask))], n_q, n_k)

    for row, column in np.ndindex(n_q, n_k):
        place = row + n_k - n_q
        inside = 0 <= place < len(mask) and column < len(mask)
        assert allowed[row, column] == (mask[place, column] if inside else False)


@given(mask_specs(), st.integers(1, 64))
def test_drawing_may_start_from_any_registered_mask(masks, n: int) -> None:
    text = drawing_of(masks, n)

    np.testing.assert_array_equal(decode_drawing(text), build_mask(masks, n, n))


@pytest.mark.parametrize("shape", [(65, 65), (2, 3), (0, 0)])
def test_a_mask_that_is_too_large_or_not_square_cannot_be_drawn(shape: tuple[int, int]) -> None:
    rule = f"from 1 to 64; got {shape[0]} by {shape[1]}. Draw on 64 tokens or fewer."
    with pytest.raises(SettingError, match=rule):
        encode_drawing(np.zeros(shape, dtype=bool))


def lines(kind: str, row: int, column: int, start: np.ndarray | None = None) -> list[str]:
    mask = np.zeros((4, 4), dtype=bool) if start is None else start
    return ["".join(".#"[cell] for cell in line) for line in toggled(mask, kind, row, column).astype(int).tolist()]


def test_a_click_switches_a_cell_a_row_a_column_a_diagonal_or_a_band() -> None:
    assert lines("cell", 1, 2) == ["....", "..#.", "....", "...."]
    assert lines("row", 1, 2) == ["....", "####", "....", "...."]
    assert lines("column", 1, 2) == ["..#."] * 4
    assert lines("diagonal", 1, 2) == [".#..", "..#.", "...#", "...."]
    assert lines("diagonal", 3, 1) == ["....", "....", "#...", ".#.."]
    assert lines("band", 2, 1) == ["#...", "##..", ".##.", "..##"]
    assert lines("band", 0, 2) == ["###.", ".###", "..##", "...#"]
    assert lines("band", 1, 1) == ["#...", ".#..", "..#.", "...#"]


def test_a_filled_cell_empties_its_line() -> None:
    assert lines("row", 2, 0, np.tri(4, dtype=bool)) == ["#...", "##..", "....", "####"]
    assert lines("column", 0, 3, np.tri(4, dtype=bool)) == ["#..#", "##.#", "####", "####"]


@given(drawings, st.sampled_from(LINES), st.data())
def test_a_line_takes_the_clicked_cells_new_value_and_nothing_else_changes(
    mask: np.ndarray, kind: str, data: st.DataObject
) -> None:
    row, column = (data.draw(st.integers(0, len(mask) - 1)) for _ in range(2))
    before = mask.copy()

    after = toggled(mask, kind, row, column)

    np.testing.assert_array_equal(mask, before)
    assert after[row, column] == ~mask[row, column]
    assert (after[after != mask] == after[row, column]).all()
    if kind == "cell":
        np.testing.assert_array_equal(toggled(after, kind, row, column), mask)


@pytest.mark.parametrize(("kind", "row"), [("circle", 0), ("cell", 4), ("cell", -1)])
def test_an_unknown_line_and_a_cell_outside_are_refused(kind: str, row: int) -> None:
    with pytest.raises(AttnvizError, match=r"must be cell, row, column, diagonal or band|must be a cell of 4 rows"):
        lines(kind, row, 0)
