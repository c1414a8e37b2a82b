"""A change draws only what can look different after it: the lens of the page, or all of the page."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settled

pytestmark = pytest.mark.browser
IN_THE_FRAME = b"Reset"


@pytest.fixture
def received(server: str, open_page: Callable[..., Page]) -> Callable[[str], tuple[Page, list[bytes]]]:
    """Opens a page, and gives what the server sends it."""

    def go(path: str) -> tuple[Page, list[bytes]]:
        page = open_page("about:blank", waits=False)
        messages: list[bytes] = []
        page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: messages.append(bytes(frame))))
        page.goto(f"{server}/{path}")
        settled(page)
        return page, messages

    return go


def sharpen(page: Page) -> None:
    page.get_by_role("slider", name="Sharpness").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**sharpness=1.1*")
    settled(page)


@pytest.mark.parametrize("path", ["", "step_by_step", "heads", "masks", "positions"])
def test_a_value_sends_the_lens_alone(path: str, received: Callable[[str], tuple[Page, list[bytes]]]) -> None:
    page, messages = received(path)
    assert any(IN_THE_FRAME in message for message in messages)
    messages.clear()

    sharpen(page)

    assert messages
    assert not [message for message in messages if IN_THE_FRAME in message]


def test_what_takes_long_is_drawn_with_the_whole_page_so_that_it_can_be_left(
    received: Callable[[str], tuple[Page, list[bytes]]],
) -> None:
    page, messages = received("?input=vectors&n_heads=2&d_model=8&n_tokens=800")
    messages.clear()

    sharpen(page)

    assert any(IN_THE_FRAME in message for message in messages)


def test_a_value_of_a_view_is_kept_while_another_view_is_shown(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/masks?mask_view=depth&mask=causal")
    page.get_by_role("slider", name="Layers").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**depth=*")
    address = page.url

    for view in ("All masks", "Through layers"):
        page.get_by_role("radio", name=view).click()
        settled(page)

    expect(page).to_have_url(address)
