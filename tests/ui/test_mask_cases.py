"""Cases that masks of other programs got wrong, each visible on the page about masks with its right value."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import Opener, errors, ran
from tests.ui.drawn import pictures, sentences

EQUAL = {"input": "vectors", "sharpness": "0"}
THIN = "\u202f"


def mask_of(app: AppTest, name: str = "mask_picture") -> list[list[int]]:
    """What a picture of a mask shows: 1 where a pair may attend."""
    return (np.asarray(pictures(app)[name].trace()["z"]) == 1).astype(int).tolist()


def bars(app: AppTest, name: str) -> list[list[float]]:
    """Weights of the chosen query in the two versions of a picture."""
    return [np.round(np.asarray(trace["x"]), 6).tolist() for trace in pictures(app)[name].figure["data"]]


def answer(app: AppTest, name: str) -> str:
    return pictures(app)[name].header["answer"]


def test_three_equal_logits_give_two_halves_where_true_attends_and_the_last_key_where_it_ignores(
    open_app: Opener,
) -> None:
    link = {**EQUAL, "n_tokens": "3", "mask": "rule", "mask.rule": "k < 2", "mask_view": "polarity", "query": "0"}
    app = open_app(link, page="masks")

    assert bars(app, "misread_row") == [[0.5, 0.5, 0], [0, 0, 1]]
    assert answer(app, "misread_row") == (
        "True = may attend gives query 0 “x0” the weights [0.500, 0.500, 0]; True = ignore [0, 0, 1.00]."
    )
    assert [trace["name"] for trace in pictures(app)["misread_row"].figure["data"]] == [
        "True = may attend",
        "True = ignore",
    ]
    assert answer(app, "misread_mask") == (
        "Read as this app means it, 6 of 9 pairs are allowed (66.7\u202f%), 1 of them in the future."
    )
    assert mask_of(app, "misread_mask") == [[1, 1, 0]] * 3

    switch = next(group for group in app.get("button_group") if group.key == "true_means")
    ran(switch.set_value("ignore").run())

    assert mask_of(app, "misread_mask") == [[0, 0, 1]] * 3
    assert bars(app, "misread_row") == [[0.5, 0.5, 0], [0, 0, 1]]
    assert answer(app, "misread_mask") == (
        "6 allowed pairs would be forbidden and 3 forbidden pairs allowed; 2 pairs would look into the future instead "
        "of 1."
    )


def test_the_table_says_which_library_reads_true_which_way(open_app: Opener) -> None:
    app = open_app({"mask_view": "polarity"}, page="masks")

    (body,) = [element.proto.body for element in app.main.get("html") if "<table" in element.proto.body]
    attend, one, ignore = body.split("<tr>")[2:]
    assert "True = may attend" in attend
    assert all(name in attend for name in ("scaled_dot_product_attention", "ONNX", "JAX", "Keras", "FlexAttention"))
    assert "Hugging Face" in one
    assert "True = ignore" in ignore
    assert all(name in ignore for name in ("nn.MultiheadAttention", "key_padding_mask", "nn.Transformer"))


@pytest.mark.parametrize(("query", "weights"), [(3, [0, 0, 0, 1, 0]), (4, [0, 0, 0, 0.5, 0.5]), (1, [0] * 5)])
def test_left_padding_under_a_causal_mask_leaves_rows_without_keys_which_are_marked(
    query: int, weights: list[float], open_app: Opener
) -> None:
    link = {**EQUAL, "n_tokens": "5", "mask": "causal", "padding": "padding_left", "padding.padded": "3"}
    app = open_app({**link, "mask_view": "order", "query": str(query)}, page="masks")

    assert mask_of(app) == [[0] * 5, [0] * 5, [0] * 5, [0, 0, 0, 1, 0], [0, 0, 0, 1, 1]]
    labels = pictures(app)["mask_picture"].figure["layout"]["meta"]["ticks"]["y"]
    assert [label.startswith("⊘") for label in labels] == [True, True, True, False, False]
    assert bars(app, "order_row")[0] == weights
    assert pictures(app)["row_sums"].trace(0)["y"].tolist() == [0, 0, 0, 1, 1]
    assert answer(app, "keys_allowed") == "Queries 0 to 2 see no key; query 4 “x4” the most, 2 of 5."
    assert "Positions count from the first token that is not padding: 0, 1 (places 3, 4)." in sentences(app)


@pytest.mark.parametrize(
    "link",
    [
        {"padding": "padding_right"},
        {"padding": "no_padding"},
        {"padding": "padding_left", "input": "trained"},
        {"padding": "padding_left", "padding.padded": "99"},
    ],
)
def test_where_no_padding_stands_before_a_token_nothing_is_said_of_where_positions_start(
    link: dict[str, str], open_app: Opener
) -> None:
    assert "Positions count" not in sentences(open_app(link, page="masks"))


def test_with_keys_of_their_own_only_the_positions_of_keys_start_after_padding(open_app: Opener) -> None:
    said = sentences(open_app({"cross": "1", "padding": "padding_left", "padding.padded": "3"}, page="masks"))

    assert "Positions of keys count from the first token that is not padding: 0, 1, 2 … (places 3, 4, 5 …)." in said


def test_a_mask_after_the_softmax_leaves_half_of_the_second_row_of_four(open_app: Opener) -> None:
    link = {**EQUAL, "n_tokens": "4", "mask": "causal", "mask_view": "order", "query": "1"}
    app = open_app(link, page="masks")

    assert bars(app, "order_row") == [[0.5, 0.5, 0, 0], [0.25, 0.25, 0, 0]]
    assert answer(app, "order_row") == (
        "Mask before the softmax: [0.500, 0.500, 0, 0], sum 1.00; mask after it: [0.250, 0.250, 0, 0], sum 0.500."
    )
    before, after, _ = pictures(app)["row_sums"].figure["data"]
    np.testing.assert_allclose(before["y"], 1, atol=1e-6)
    np.testing.assert_allclose(after["y"], [0.25, 0.5, 0.75, 1], atol=1e-6)
    assert answer(app, "row_sums") == (
        f"Masked after the softmax, 3 of 4 rows lose more than 0.1{THIN}% of their sum, down to 0.250."
    )


def test_only_rows_that_lose_a_visible_part_are_counted_as_broken(open_app: Opener) -> None:
    app = open_app({"mask": "causal", "sparsity": "sliding_window", "mask_view": "order"}, page="masks")

    before, after, _ = pictures(app)["row_sums"].figure["data"]
    lost = 1 - np.asarray(after["y"]) / np.asarray(before["y"])
    n_broken = int((lost > 1e-3).sum())
    n_less = 11 - n_broken
    assert 0 < n_broken < 11
    assert answer(app, "row_sums").startswith(f"Masked after the softmax, {n_broken} of 11 rows lose more than 0.1")
    assert f"; {n_less} lose less, because" in answer(app, "row_sums")


@pytest.mark.parametrize(
    ("n_q", "n_k", "align", "expected"),
    [
        (2, 5, "bottom-right", [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]),
        (2, 5, "top-left", [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]),
        (5, 2, "bottom-right", [[0, 0], [0, 0], [0, 0], [1, 0], [1, 1]]),
        (5, 2, "top-left", [[1, 0], [1, 1], [1, 1], [1, 1], [1, 1]]),
        (1, 8, "bottom-right", [[1] * 8]),
        (1, 8, "top-left", [[1] + [0] * 7]),
    ],
)
@pytest.mark.parametrize("view", ["gallery", "together", "depth", "polarity", "order", "code"])
def test_queries_stand_at_the_end_of_the_keys_or_at_their_start_as_the_control_says(
    n_q: int, n_k: int, align: str, expected: list[list[int]], view: str, open_app: Opener
) -> None:
    link = {"input": "vectors", "cross": "1", "n_tokens": str(n_q), "n_keys": str(n_k), "mask": "causal"}
    app = open_app({**link, "mask.align": align, "mask_view": view}, page="masks")

    assert errors(app) == []
    assert mask_of(app) == expected
    assert app.selectbox(key="mask.align").value == align
    assert pictures(app)["keys_allowed"].trace()["y"].tolist() == [sum(row) for row in expected]


@pytest.mark.parametrize(("window", "counts"), [(3, [1, 2, 3, 3, 3, 3]), (4, [1, 2, 3, 4, 4, 4])])
def test_a_window_of_so_many_keys_counts_the_querys_own(window: int, counts: list[int], open_app: Opener) -> None:
    link = {"input": "vectors", "n_tokens": "6", "mask": "causal", "sparsity": "sliding_window"}
    app = open_app({**link, "sparsity.window": str(window)}, page="masks")

    assert pictures(app)["keys_allowed"].trace()["y"].tolist() == counts
    assert answer(app, "mask_picture").startswith(f"{sum(counts)} of 36 pairs are allowed")
    assert app.selectbox(key="sparsity").help.startswith(
        "Sliding window: A query may attend to the keys fewer than `window` places away, its own position included."
    )


def test_the_page_says_what_skipping_pairs_saves_and_which_pairs_are_reachable(open_app: Opener) -> None:
    said = sentences(open_app({"mask": "causal"}, page="masks"))

    assert f"Of the layer's 391{THIN}kFLOP, 31.0{THIN}kFLOP are for scores and context" in said
    assert f"The allowed pairs alone would take 16.9{THIN}kFLOP, and" in said
    assert f"2.11{THIN}kB instead of 3.87{THIN}kB for the weights" in said
    assert "A dense implementation computes every pair and then hides some, so it saves nothing." in said
    assert f"Through 1 layer or more, 66 of 121 pairs are reachable (54.5{THIN}%)." in said


def test_pairs_are_counted_over_all_heads_where_heads_differ(open_app: Opener) -> None:
    link = {"input": "vectors", "n_tokens": "6", "d_model": "16", "n_heads": "2", "sparsity": "strided"}
    said = sentences(open_app({**link, "sparsity.heads": "alternating", "sparsity.stride": "2"}, page="masks"))

    distance = np.subtract.outer(np.arange(6), np.arange(6))
    near, far = (distance >= 0) & (distance <= 2), (distance >= 0) & (distance % 2 == 0)
    n_pairs = int(near.sum() + far.sum())
    assert f"and {4 * n_pairs}{THIN}B instead of {4 * 72}{THIN}B for the weights" in said
