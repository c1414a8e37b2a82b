"""What a kept setting is called, beside the one on screen."""

from __future__ import annotations

import pytest

from attnviz.registries import MASKS, POSITIONS
from attnviz.scenario import Scenario
from attnviz.ui.kept_setting import apart
from tests.ui.conftest import Opener
from tests.ui.drawn import pictures

CAUSAL = MASKS["causal"].spec()


@pytest.mark.parametrize(
    ("kept", "now", "said"),
    [
        (Scenario(mask=CAUSAL), Scenario(), "mask “causal” (now “full”)"),
        (Scenario(sharpness=0.5), Scenario(sharpness=2.0), "sharpness 0.5 (now 2)"),
        (Scenario(n_kv_heads=2), Scenario(), "key/value heads 2 (now as usual)"),
        (Scenario(is_scaled=False), Scenario(), "scaled by √d_head off (now on)"),
        (Scenario(removed="3"), Scenario(), "heads off 3 (now none)"),
        (Scenario(text="<one> $two$"), Scenario(text="x" * 60), f"sentence “<one> $two$” (now “{'x' * 47}…”)"),
        (
            Scenario(position=POSITIONS["alibi"].spec(slope=2.0)),
            Scenario(position=POSITIONS["none"].spec()),
            "positions “ALiBi”, slope 2.0 (now “none”)",
        ),
        (Scenario(input="vectors"), Scenario(), "input vectors (now sentence)"),
        (Scenario(n_heads=4, seed=7), Scenario(), "heads 4 (now 8) and seed 7 (now 0)"),
    ],
)
def test_every_setting_that_differs_is_named_with_both_values(kept: Scenario, now: Scenario, said: str) -> None:
    assert said in apart(kept, now)
    assert apart(kept, kept) == ""


@pytest.mark.parametrize(
    ("kept", "now"),
    [
        (Scenario(head=3, query=1, heads_view="measure", scale="viridis"), Scenario()),
        (Scenario(n_tokens=7, key_text="other", n_keys=3, stand_in="mean"), Scenario()),
        (Scenario(input="vectors", text="other"), Scenario(input="vectors")),
        (Scenario(input="trained", n_heads=4, seed=3), Scenario(input="trained")),
    ],
)
def test_what_no_weight_depends_on_is_not_named(kept: Scenario, now: Scenario) -> None:
    assert apart(kept, now) == ""


def test_of_many_differences_the_first_are_named_and_the_others_counted() -> None:
    kept = Scenario(
        text="a b",
        d_model=32,
        n_heads=2,
        n_kv_heads=1,
        mask=CAUSAL,
        weights="random",
        sharpness=2.0,
        softcap=3.0,
        seed=1,
    )

    said = apart(kept, Scenario())

    assert said.startswith("The kept setting has sentence “a b” (now “The cat sat on")
    assert said.endswith("weights random (now designed) and 3 more.")


def test_the_picture_says_what_was_kept_and_marks_what_only_one_mask_allows(open_app: Opener) -> None:
    app = open_app({"beside": "mask=causal"}, page="heads")

    drawn = pictures(app)["difference"]
    assert drawn.header["answer"].startswith("The kept setting has mask “causal” (now “full”). Head 0 now has ")
    assert "on keys that are forbidden to head 0 in the kept setting (a uniform head: 45.5" in drawn.header["answer"]
    z, cells = drawn.trace()["z"], drawn.figure["layout"]["meta"]["cells"]
    upper = [z[row, column] for row in range(11) for column in range(row + 1, 11)]
    assert all(cells["hidden_from"] < value < cells["lowest"] for value in upper)
    assert drawn.trace()["colorbar"]["ticktext"][0] == "forbidden in one"
