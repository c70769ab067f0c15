"""The page as people use it: what if, undo, links, files, the keyboard, and texts that mean it harm."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from splade.surgery.removal_list import read_removals
from tests.apps.lab.conftest import Lab
from tests.apps.lab.test_sums import READ, check_table, decimal

TEXT = "a very good film with a dull script"

SHOWN = "() => document.querySelector('.result').outerHTML.replace(/<!--.*?-->/gs, '')"


def settled(page: Any) -> None:
    page.wait_for_selector(".result[aria-busy='false']")


def press_word(page: Any, word: str) -> None:
    page.locator(".sentence").first.get_by_role("button", name=re.compile(f"^{re.escape(word)},")).first.click()


def take_away(page: Any, *buttons: str) -> None:
    """Press buttons of what-if, each with its answer awaited."""
    for button in buttons:
        with page.expect_response(re.compile("/suppress$")):
            page.locator(".what-if").get_by_role("button", name=button).first.click()
        settled(page)


def test_what_if_is_what_suppress_says_and_undo_gives_the_same_bytes(lab: Lab) -> None:
    page = lab.open("explain", model="three", text=TEXT)
    settled(page)
    press_word(page, "good")
    before = page.evaluate(SHOWN)
    asked = {"model": "three", "text": TEXT, "silence": ["good"]}
    stages: list[dict[str, Any]] = [asked, asked | {"delete": [2]}]
    shown = []
    for stage, button in zip(stages, ["Silence the word", "Delete it from the text"], strict=True):
        take_away(page, button)
        answer = lab.ask("/suppress", **stage)
        target = answer["target"]
        found = page.evaluate(READ)
        found["logits"] = [answer["before"]["logits"][target], answer["after"]["logits"][target]]
        check_table(found)
        assert float(found["logit"]) == answer["after"]["logits"][target]
        effect = page.locator(".effect td.n:nth-of-type(1) data").evaluate_all("all => all.map(one => one.textContent)")
        assert sum(map(decimal, effect[:-1])) == decimal(effect[-1])
        shown.append(page.evaluate(SHOWN))
    assert len({before, *shown}) == 3
    page.get_by_role("button", name="Undo").click()
    settled(page)
    assert page.evaluate(SHOWN) == shown[0]
    page.get_by_role("button", name="Undo").click()
    settled(page)
    assert page.evaluate(SHOWN) == before


def test_a_link_shows_the_same_in_another_browser_and_its_text_is_never_sent_with_the_address(lab: Lab) -> None:
    page = lab.open("explain", model="three", text=TEXT)
    settled(page)
    press_word(page, "dull")
    take_away(page, "Silence the word", "Delete it from the text")
    page.get_by_role("radio", name="class 2").check()
    settled(page)
    press_word(page, "dull")  # no longer chosen, which is no part of a link
    asked: list[str] = []
    other = lab.open()
    other.on("request", lambda request: asked.append(request.url))
    other.goto(page.url)
    other.reload()
    settled(other)
    anywhere = re.compile(' tabindex="-?[01]"')  # where the arrow keys go on from is no part of a link either
    assert anywhere.sub("", other.evaluate(SHOWN)) == anywhere.sub("", page.evaluate(SHOWN))
    assert asked and not any("dull" in url.split("#")[0] for url in asked)
    assert other.locator(".removals li").count() == 2


def test_going_back_goes_back(lab: Lab) -> None:
    page = lab.open("explain", model="three", text=TEXT)
    settled(page)
    press_word(page, "dull")
    take_away(page, "Silence the word")
    page.go_back()
    settled(page)
    assert page.locator(".removals").count() == 0


def test_the_saved_list_is_what_suppress_reads(lab: Lab, tmp_path: Path) -> None:
    page = lab.open("explain", text=TEXT, silence=["dull", "film"], shut="good", delete="1")
    settled(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the list").click()
    download.value.save_as(tmp_path / "removals.json")
    listed = read_removals(tmp_path / "removals.json")
    assert listed.shut == ["good"] and listed.silence == ["dull", "film"]


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until something has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} is not reached by Tab")


def test_a_first_visit_by_keyboard_alone(lab: Lab) -> None:
    """Open, read, choose the word, silence it, undo it, ask for a text of one's own."""
    page = lab.open()
    settled(page)
    assert page.locator(".guide li.current").inner_text().startswith("Read the sum")
    tab_to(page, ".guide button.primary")
    page.keyboard.press("Enter")  # chooses the strongest word
    page.wait_for_selector(".chosen")
    page.keyboard.press("Enter")  # silences it: the focus has moved on with the guide
    page.wait_for_selector(".removals")
    settled(page)
    tab_to(page, ".undo")
    page.keyboard.press("Enter")
    page.wait_for_selector(".removals", state="detached")
    settled(page)
    assert page.evaluate("document.activeElement.matches('.word')")  # not lost with the button
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".word[aria-pressed='true']").count() == 1
    page.keyboard.press("Shift+Tab")
    for _ in range(20):
        if page.evaluate("document.activeElement.id") == "text":
            break
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("a boring story")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.sentence').textContent === 'a boring story'")


HARMFUL = [
    '<img src=x onerror="window.hacked = 1"> good <script>window.hacked = 2</script> film',
    "\u05e1\u05e8\u05d8 good \u05e0\u05d4\u05d3\u05e8 film",  # right to left
    "good \U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 film \U0001f3f3\ufe0f!",  # beyond 16 bits
    "e\u0301 good cafe\u0301 fi\u0301lm",  # combining marks
    'good" onclick="hacked=1 ${hacked} {{film}} javascript:hacked',
    "  good\n\n\tfilm  ",
]


def test_any_text_is_shown_as_it_is_and_does_nothing(lab: Lab) -> None:
    page = lab.open("explain", model="three", text=HARMFUL[0])
    for text in HARMFUL:
        page.goto(lab.link("explain", model="three", text=text))
        page.wait_for_function("text => document.querySelector('.sentence')?.textContent === text", arg=text)
        [explanation] = lab.ask("/explain", model="three", texts=[text])["explanations"]
        shown = page.locator(".sentence .word").evaluate_all("all => all.map(one => one.textContent)")
        assert shown == [word["word"] for word in explanation["words"] if word["number"] is not None]
        assert page.locator(".result :is(img, script)").count() == 0
    direction = page.evaluate("getComputedStyle(document.querySelector('.sentence')).direction")
    assert direction == "ltr" and page.evaluate("window.hacked") is None
    page.goto(lab.link("words", model="reviews", query=HARMFUL[0]))
    page.wait_for_selector(".circuits")
    assert page.evaluate("window.hacked") is None and page.locator("main img").count() == 0


def test_a_hundred_thousand_words_are_all_there_and_few_are_drawn(lab: Lab) -> None:
    page = lab.open("explain", model="three", text="a good film")
    settled(page)
    words = 100_000
    page.locator("#text").fill("good film " * (words // 2))
    page.get_by_role("button", name="Explain", exact=True).click()
    page.wait_for_function("() => document.querySelector('.sentence').textContent.length > 400000", timeout=60_000)
    assert page.evaluate("document.querySelector('.sentence').textContent.trim().split(' ').length") == words
    assert page.locator(".word").count() < 2_000
    assert page.get_by_text("longer than the").count() == 1
    check = page.evaluate(READ)
    assert sum(map(decimal, check["now"][:-1])) == decimal(check["now"][-1])


def test_a_server_that_asks_for_its_key_is_given_it(lab: Lab) -> None:
    page = lab.open("data")
    page.wait_for_selector(".mistakes")
    refusal = {"error": {"status": 401, "code": "unauthorized", "message": "The server asks for its API key."}}
    given: list[str | None] = []

    def answer(route: Any) -> None:
        given.append(route.request.headers.get("x-api-key"))
        if given[-1] == "sesame":
            route.continue_()
        else:
            route.fulfill(status=401, body=json.dumps(refusal), content_type="application/json")

    page.route("**/models", answer)
    page.goto(lab.link("explain", text=TEXT))
    page.reload()
    page.get_by_label("This server asks for its API key").fill("sesame")
    page.get_by_role("button", name="Use it").click()
    settled(page)
    assert given == [None, "sesame"]
    lab.faults[:] = [fault for fault in lab.faults if "401" not in fault]  # Chromium notes every refusal


def test_a_tag_has_its_sum_and_what_if(lab: Lab) -> None:
    page = lab.open("explain", model="names", text="john smith saw a film in london .")
    settled(page)
    press_word(page, "london")
    page.wait_for_function("() => document.querySelector('.verdict').textContent.trim().startsWith('london')")
    [tagged] = lab.ask("/explain", model="names", texts=["john smith saw a film in london ."], word=6)["explanations"]
    [explained] = tagged["explained"]
    found = page.evaluate(READ) | {"logits": [explained["logits"][explained["target"]]]}
    check_table(found)
    take_away(page, "Silence the word")
    answer = lab.ask("/suppress", model="names", text=tagged["text"], silence=["london"], word=6)
    [effect] = [one for one in answer["effects"] if one["number"] == 6]
    logits = effect["logits"][explained["target"]]
    assert page.evaluate(READ)["was"]
    assert float(page.locator("tr.logit .was data").get_attribute("value")) == logits["before"]


def test_two_texts_differ_by_what_their_words_add(lab: Lab) -> None:
    page = lab.open("compare", model="three", text=TEXT, other="a dull film with a good script")
    page.wait_for_selector(".difference")
    columns = page.locator(".difference tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td.n')].map(one => one.textContent.trim()))"
    )
    for column in zip(*columns, strict=True):
        *summands, last = map(decimal, column)
        assert sum(summands) == last
    assert decimal(columns[-1][1]) - decimal(columns[-1][0]) == decimal(columns[-1][2])
    page.get_by_role("combobox", name="Compare").select_option("reviews")
    page.wait_for_function("() => document.querySelectorAll('textarea').length === 1")
    page.wait_for_function("() => document.querySelectorAll('.sides .verdict').length === 2")


def test_what_was_taken_from_one_text_is_not_asked_of_another(lab: Lab) -> None:
    page = lab.open("explain", text=TEXT, silence="dull", delete="1")
    settled(page)
    assert page.locator(".removals li").count() == 2
    page.get_by_role("link", name="Compare").click()
    page.wait_for_selector(".difference")
    page.locator("#text").fill("a good film")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_function("() => location.hash.includes('a+good+film')")
    page.get_by_role("link", name="Explain", exact=True).click()
    settled(page)
    assert page.locator(".removals li").count() == 0


def test_a_word_is_silenced_once_in_all_its_casings(lab: Lab) -> None:
    page = lab.open("explain", text="a dull film , Dull and DULL", silence="Dull")
    settled(page)
    press_word(page, "DULL")
    assert page.locator(".what-if").get_by_role("button", name="Silence the word").is_disabled()


def test_words_and_mistakes_lead_to_their_sums(lab: Lab) -> None:
    page = lab.open("words", model="reviews")
    page.locator(".circuit th a").first.click()
    page.wait_for_selector(".word-about .said-where")
    page.locator(".said-where a").first.click()
    settled(page)
    assert page.url.split("#")[1].startswith("explain?")
    page.get_by_role("link", name="Data and bias").click()
    page.wait_for_selector(".figures b")
    assert page.locator(".figures b").count() > 3
