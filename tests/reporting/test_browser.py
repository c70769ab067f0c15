"""The report in a real browser: nothing overflows, nothing is fetched, all can be read, on a phone and in the dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from splade.reporting.report import write_report
from tests.reporting.builders import build_explanation, build_history, build_results

WIDTHS = (1280, 360)
SCHEMES = ("light", "dark")

LEAST_CONTRAST = 4.5
"""Of text against what is behind it, by the Web Content Accessibility Guidelines."""

CONTRASTS = """() => {
  const channel = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); };
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = text => { const n = text.match(/[\\d.]+/g).map(Number); return n.length > 3 ? n : [...n, 1]; };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3]));
  const behind = node => {
    if (!node) return [255, 255, 255];
    const own = parse(getComputedStyle(node).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(node.parentElement));
  };
  const found = [];
  const texts = 'mark, td, th, p, small, span, figcaption, summary, a, li, dt, dd, h1, h2, h3';
  for (const node of document.querySelectorAll(texts)) {
    if (!node.textContent.trim() || !node.getClientRects().length || node.closest('svg')) continue;
    const ground = behind(node), text = over(parse(getComputedStyle(node).color), ground);
    const [a, b] = [light(text), light(ground)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), node.tagName + ': ' + node.textContent.trim().slice(0, 40)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    explanations = [build_explanation(), build_explanation("")]
    write_report(path, build_results(), build_history(), explanations, [(build_explanation(), "another label")])
    return path


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_and_can_be_read(browser: Any, report: Path, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    fetched: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(report.as_uri())
    assert said == [] and fetched == [report.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 50 and [text for contrast, text in contrasts if contrast < LEAST_CONTRAST] == []
    page.close()


def test_every_link_leads_somewhere_and_every_drawing_is_titled(browser: Any, report: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(report.as_uri())
    links = page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href').slice(1))")
    assert len(links) > 5 and all(page.evaluate("id => !!document.getElementById(id)", one) for one in links)
    figures = page.evaluate(
        "[...document.querySelectorAll('figure')]"
        ".map(figure => ['h3', 'figcaption'].map(part => figure.querySelector(part).textContent))"
    )
    assert len(figures) > 3 and all(title.strip() and caption.strip() for title, caption in figures)
    assert page.evaluate("!!document.querySelector('#wrong article .label.wrong')")
    page.close()


def test_a_table_too_broad_for_the_page_scrolls_in_its_box_and_keeps_its_first_column(
    browser: Any, report: Path
) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 900})
    page.goto(report.as_uri())
    moved = page.evaluate(
        """() => [...document.querySelectorAll('.wide')].filter(box => box.scrollWidth > box.clientWidth).map(box => {
          const cell = n => box.querySelector('tr:last-child').children[n].getBoundingClientRect().left;
          const before = [cell(0), cell(1)];
          box.scrollLeft = 60;
          return [cell(0) - before[0], cell(1) - before[1]];
        })"""
    )
    assert moved and all(first == 0 and second < 0 for first, second in moved)
    page.close()
