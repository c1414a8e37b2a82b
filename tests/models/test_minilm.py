from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attnviz.errors import NothingYetError, UnknownNameError
from attnviz.models import MINILM, encode, load_minilm, run_encoder, tokenize
from attnviz.registries import MASKS, POSITIONS
from attnviz.registry import Spec

pytestmark = pytest.mark.model

GOLDEN = dict(np.load(Path(__file__).parents[1] / "golden" / "minilm.npz"))
CAT = "The cat sat on the mat because it was tired."
SENTENCES = {"cat": CAT, "bank": "She sat by the river bank, then walked to the bank to open an account."}


@pytest.fixture(scope="module")
def encoder():
    return load_minilm()


@pytest.mark.parametrize("name", SENTENCES)
def test_tokens_weights_and_last_hidden_state_are_those_of_transformers(encoder, name):
    run = encode(encoder, SENTENCES[name])
    assert run.traces[0].query_tokens == run.traces[5].key_tokens == tuple(GOLDEN[f"{name}_tokens"].tolist())
    weights = np.stack([trace.weights for trace in run.traces])
    assert weights.dtype == run.last_hidden.dtype == np.float32
    np.testing.assert_allclose(weights, GOLDEN[f"{name}_weights"], rtol=0, atol=5e-6)
    np.testing.assert_allclose(run.last_hidden, GOLDEN[f"{name}_last_hidden"], rtol=0, atol=1e-5)


def test_layer_0_head_2_looks_at_the_previous_token(encoder):
    weights = run_encoder(encoder, CAT)[0].weights[2]
    assert np.diagonal(weights, offset=-1).mean() > 0.99


def test_layer_5_head_11_sends_it_to_the_cat(encoder):
    trace = run_encoder(encoder, CAT)[5]
    it, cat, mat = (trace.query_tokens.index(word) for word in ("it", "cat", "mat"))
    assert trace.weights[11, it, cat] == pytest.approx(0.71, abs=0.01)
    assert trace.weights[11, it, mat] == pytest.approx(0.10, abs=0.01)


def test_layer_2_head_7_parks_its_attention_on_the_first_token(encoder):
    assert run_encoder(encoder, CAT)[2].weights[7, :, 0].mean() == pytest.approx(0.90, abs=0.01)


def test_the_description_says_what_the_files_hold(encoder):
    config = encoder.network.config
    assert (config.n_layers, config.n_heads) == (MINILM.n_layers, MINILM.n_heads) == (6, 12)
    assert (config.d_model, config.max_tokens) == (MINILM.d_model, MINILM.max_tokens) == (384, 512)
    assert MINILM.mask in MASKS
    assert MINILM.position in POSITIONS
    assert MINILM.licence == "Apache-2.0"


def test_the_weights_are_loaded_once_and_an_encoder_is_a_cache_key(encoder):
    assert load_minilm() is encoder
    assert {encoder: 1}[load_minilm()] == 1


def test_the_trace_of_a_layer_has_the_sizes_of_the_model(encoder):
    traces = run_encoder(encoder, CAT)
    assert len(traces) == 6
    assert {trace.weights.shape for trace in traces} == {(12, 13, 13)}
    assert {trace.query.shape for trace in traces} == {(12, 13, 32)}
    assert {trace.output.shape for trace in traces} == {(13, 384)}
    assert traces[0].mask.shape == (1, 13, 13)


def test_rare_words_are_cut_into_pieces_as_in_training(encoder):
    assert tokenize(encoder, "Unaffable tokenization") == (
        ("[CLS]", "una", "##ffa", "##ble", "token", "##ization", "[SEP]"),
        7,
    )


@pytest.mark.parametrize("n_words", [510, 511, 700])
def test_a_long_text_is_cut_at_512_tokens_and_keeps_its_end_mark(encoder, n_words):
    tokens, n_before = tokenize(encoder, "start " + "word " * (n_words - 1))
    assert len(tokens) == 512
    assert n_before == n_words + 2
    assert (tokens[0], tokens[1], tokens[-2], tokens[-1]) == ("[CLS]", "start", "word", "[SEP]")


def test_the_longest_text_runs_in_every_layer(encoder):
    traces = run_encoder(encoder, "word " * 700)
    assert {trace.weights.shape for trace in traces} == {(12, 512, 512)}
    np.testing.assert_allclose(traces[5].weights.sum(axis=-1), 1, rtol=0, atol=1e-5)


@pytest.mark.parametrize("text", ["", " \n\t ", "\x00\u200b\ud800"])
def test_a_text_without_a_token_is_refused(encoder, text):
    for read in (tokenize, run_encoder):
        with pytest.raises(NothingYetError, match=r"^Nothing to show yet: type a sentence of at least one word\.$"):
            read(encoder, text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a\x00b\x07 c\u202e", ("ab", "c")),
        ("\U0001f408 cat", ("[UNK]", "cat")),
        ("שלום", ("ש", "##ל", "##ו", "##ם")),
        ("<script>1</script>", ("<", "script", ">", "1", "<", "/", "script", ">")),
        ("a \ud83d b", ("a", "b")),
        ("CAFÉ 中文", ("cafe", "中", "文")),
        ("see [SEP] [MASK]", ("see", "[SEP]", "[MASK]")),
    ],
)
def test_unusual_text_gives_the_tokens_it_has_and_a_run_of_them(encoder, text, tokens):
    trace = run_encoder(encoder, text)[5]
    assert trace.query_tokens == ("[CLS]", *tokens, "[SEP]")
    np.testing.assert_allclose(trace.weights.sum(axis=-1), 1, rtol=0, atol=1e-5)


def test_sharpness_0_makes_every_row_uniform_in_every_layer(encoder):
    for trace in run_encoder(encoder, CAT, sharpness=0):
        np.testing.assert_allclose(trace.weights, np.full((12, 13, 13), 1 / 13), rtol=0, atol=1e-7)


def test_under_a_causal_mask_no_token_is_changed_by_what_comes_after_it(encoder):
    masks = (MASKS["causal"].spec(),)
    one = encode(encoder, "The cat sat on the mat because", masks=masks)
    other = encode(encoder, "The cat sat on a dog for years", masks=masks)
    for trace in one.traces:
        assert (np.triu(trace.weights, k=1) == 0).all()
        np.testing.assert_allclose(trace.weights.sum(axis=-1), 1, rtol=0, atol=1e-5)
    same = one.traces[0].query_tokens.index("on") + 1
    np.testing.assert_allclose(one.last_hidden[:same], other.last_hidden[:same], rtol=0, atol=1e-5)
    assert np.abs(one.last_hidden[same:8] - other.last_hidden[same:8]).max() > 0.1


def test_masks_are_combined_and_hold_in_every_layer(encoder):
    masks = (MASKS["causal"].spec(), MASKS["sliding_window"].spec(window=2))
    q, k = np.arange(13)[:, None], np.arange(13)[None, :]
    for trace in run_encoder(encoder, CAT, masks=masks):
        np.testing.assert_array_equal(trace.mask[0], (k == q) | (k == q - 1))
        assert (trace.weights[:, ~trace.mask[0]] == 0).all()


def test_no_mask_and_the_mask_of_the_training_are_the_same(encoder):
    left_out, named = run_encoder(encoder, CAT), run_encoder(encoder, CAT, masks=(MASKS[MINILM.mask].spec(),))
    np.testing.assert_array_equal(left_out[5].weights, named[5].weights)


def test_a_mask_that_nobody_registered_is_refused_by_name(encoder):
    with pytest.raises(UnknownNameError, match="mask=casual"):
        run_encoder(encoder, CAT, masks=(Spec("casual"),))
