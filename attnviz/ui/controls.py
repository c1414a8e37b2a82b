"""The sidebar and the pickers; each control sets one field of the scenario."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.core.config import divisors
from attnviz.figures.labels import visible
from attnviz.menu import Menu
from attnviz.registry import Spec
from attnviz.scenario import D_MODELS, DOMAINS, PARAMS, Scenario
from attnviz.ui import session, viewing
from attnviz.ui.layer import Layer
from attnviz.ui.parameters import parameter
from attnviz.ui.variants import second_input, variants

INPUTS = {"sentence": "Sentence", "vectors": "Vectors", "trained": "Trained"}
WEIGHTS = {"designed": "Designed", "random": "Random"}
MENUS = {"mask": "Mask", "sparsity": "Sparsity", "padding": "Padding", "position": "Positions"}
MOST_OPTIONS = 300
Slots = dict[str, DeltaGenerator]


def frame(scenario: Scenario) -> Slots:
    """The controls that others depend on, in the order input, shape, masks, positions, weights; and room for those."""
    slots: Slots = {}
    with st.sidebar:
        st.segmented_control(
            "Input",
            list(INPUTS),
            key="input",
            format_func=INPUTS.__getitem__,
            required=True,
            width="stretch",
            help="Your sentence, random vectors, or the trained heads of all-MiniLM-L6-v2 reading your sentence.",
        )
        slots["input"] = st.container()
        _shape(scenario)
        for name in MENUS:
            if name == "position" and scenario.input == "trained":
                _fixed(MENUS[name], "Learned (trained)")
            else:
                spec_menu(name, MENUS[name], getattr(scenario, name))
                slots[name] = st.container()
        _weights(scenario)
        slots["rest"] = st.container()
        _link()
    return slots


def values(scenario: Scenario, slots: Slots) -> None:
    """The controls that no other depends on, each in its place between those of the frame."""
    with slots["input"]:
        _input(scenario)
    for name in MENUS:
        if name in slots:
            with slots[name]:
                parameters(name, getattr(scenario, name))
    with slots["rest"]:
        _rest(scenario)


def _input(scenario: Scenario) -> None:
    if scenario.input == "vectors":
        summary = "How many random vectors attend to each other; the seed decides which."
        parameter("n_tokens", PARAMS["n_tokens"], label="Length (tokens)", summary=summary)
    else:
        st.text_area(
            "Sentence",
            key="text",
            height=88,
            placeholder="Type a sentence.",
            help="Press Ctrl+Enter to apply. The same word has the same vector wherever it stands.",
        )
    if scenario.input != "trained":
        second_input(scenario)
    else:
        from attnviz.models import MINILM

        st.slider("Layer", 0, MINILM.n_layers - 1, key="layer", help=f"Layers of {MINILM.label}, first to last.")


def _shape(scenario: Scenario) -> None:
    with st.container(horizontal=True, gap="small", key="shape"):
        if scenario.input == "trained":
            from attnviz.models import MINILM

            _fixed("d_model", str(MINILM.d_model))
            _fixed("Heads", str(MINILM.n_heads))
            return
        widths = sorted({*D_MODELS, scenario.d_model})
        st.selectbox("d_model", widths, key="d_model", help="Width: columns of x, divided over the heads.")
        st.selectbox(
            "Heads", divisors(scenario.d_model), key="n_heads", help="Only numbers that divide d_model are offered."
        )


def _fixed(label: str, value: str) -> None:
    reason = "The trained model fixes this; choose another input to change it."
    st.selectbox(label, [value], disabled=True, help=reason, key=f"fixed.{label}")


def spec_menu(name: str, label: str, chosen: Spec) -> None:
    """A menu of registered functions."""
    menu = DOMAINS[name]
    assert isinstance(menu, Menu)
    entry = menu.registry[chosen.name]
    st.selectbox(
        label,
        menu.names(),
        key=name,
        format_func=lambda option: menu.registry[option].label,
        help=f"{entry.label}: {entry.summary} Source: {entry.source}.",
    )


def parameters(name: str, chosen: Spec) -> None:
    """A control for each parameter of what was chosen in a menu."""
    menu = DOMAINS[name]
    assert isinstance(menu, Menu)
    for param in menu.registry[chosen.name].params:
        parameter(f"{name}.{param.name}", param)


def _weights(scenario: Scenario) -> None:
    if scenario.input != "trained":
        st.segmented_control(
            "Weights",
            list(WEIGHTS),
            key="weights",
            format_func=WEIGHTS.__getitem__,
            required=True,
            width="stretch",
            help="Designed: W_Q and W_K are built so that each head does something one can name. "
            "Random: drawn from the seed.",
        )


def _rest(scenario: Scenario) -> None:
    summary = "Scores are multiplied by it: 1 is plain, 0 gives every key the same, and more favours the best key more."
    parameter("sharpness", PARAMS["sharpness"], label="Sharpness", summary=summary)
    if scenario.input != "trained":
        with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
            summary = "Where everything random starts: the same seed always gives the same numbers."
            parameter("seed", PARAMS["seed"], label="Seed", summary=summary)
            st.button("New seed", on_click=session.setter(seed=secrets.randbelow(1_000_000)))
        variants(scenario)
    _view()


def _view() -> None:
    folded = st.expander("View", key="view", on_change="rerun")
    if not folded.open:
        return
    with folded:
        summary = "Colours of the weights, from 0 to the largest; all three can be read by the colour-blind."
        parameter("scale", PARAMS["scale"], label="Colour scale", summary=summary)
        st.toggle(
            "Same scale for all heads",
            key="shared_scale",
            help="Playground. Off: each head's largest weight has the strongest colour.",
        )
        viewing.controls()


@st.fragment
def _link() -> None:
    with st.container(horizontal=True, gap="small"):
        folded = st.popover("Copy link", width="stretch", key="link", on_change="rerun")
        if folded.open:
            base = (st.context.url or "").partition("?")[0]
            query = urlencode(session.scenario().to_query())
            folded.code(f"{base}?{query}" if query else base, language=None, wrap_lines=True)
        st.button("Reset", on_click=session.reset, width="stretch")


def view_picker(field: str, names: Mapping[str, str]) -> None:
    """The control for a field that says which view of a page is shown."""
    st.segmented_control(
        "What to look at",
        list(names),
        key=field,
        format_func=names.__getitem__,
        required=True,
        label_visibility="collapsed",
    )


def clamped_head(layer: Layer) -> int:
    """The chosen head, lowered where the setting has fewer."""
    return session.keep_within("head", layer.trace.n_heads)


def head_picker(layer: Layer) -> int:
    """A control for the chosen head."""
    head = clamped_head(layer)
    names = [f"{i} · {role}" if role else str(i) for i, role in enumerate(layer.roles)]
    _index("Head", "head", names)
    return head


def cell_picker(layer: Layer) -> tuple[int, int]:
    """The chosen query and key."""
    query = session.keep_within("query", layer.trace.n_q)
    key = session.keep_within("key", layer.trace.n_k)
    with st.container(horizontal=True, gap="small"):
        _index("Query (row)", "query", _numbered(layer.trace.query_tokens))
        _index("Key (column)", "key", _numbered(layer.trace.key_tokens))
    return query, key


def query_picker(layer: Layer) -> int:
    """The chosen query."""
    query = session.keep_within("query", layer.trace.n_q)
    _index("Query", "query", _numbered(layer.trace.query_tokens))
    return query


def _numbered(tokens: Sequence[str]) -> list[str]:
    return [f"{place} {visible(token)}" for place, token in enumerate(tokens[: MOST_OPTIONS + 1])] + [""] * max(
        0, len(tokens) - MOST_OPTIONS - 1
    )


def _index(label: str, key: str, names: Sequence[str]) -> None:
    if len(names) > MOST_OPTIONS:
        st.number_input(label, 0, len(names) - 1, step=1, key=key)
    else:
        session.follow_labels(key, names)
        st.selectbox(label, range(len(names)), key=key, format_func=names.__getitem__)
