#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reference_browser.py REFERENCE: opens the reference in a headless Chromium, searches it, and saves pictures beside it.

Exits with status 77 if Chromium is missing."""
import os
import sys
import time

import devtools

SEARCHES = ["Queue", "QueuePair", "XioComEnqueue"]
# The entries that are shown: the text of each one and of its scopes. The list may be in a separate frame.
FOUND = """(() => {
  const frame = document.getElementById('MSearchResults');
  const page = frame && frame.contentDocument ? frame.contentDocument : document;
  const shown = [...page.querySelectorAll('.SRResult')].filter(one => one.style.display != 'none' && one.offsetParent !== null);
  return shown.map(one => one.innerText.trim().replace(/\\s+/g, ' ')).join('\\n');
})()"""


def search(browser, words):
    browser.value(f"""(() => {{
      const field = document.getElementById('MSearchField');
      field.focus();
      field.value = {words!r};
      for (const kind of ['keydown', 'keyup']) field.dispatchEvent(new KeyboardEvent(kind, {{key: 'e', keyCode: 69, bubbles: true}}));
    }})()""")
    try:
        return browser.wait(FOUND, 10).split("\n")
    except RuntimeError:
        return []


def main():
    folder = os.path.abspath(sys.argv[1])
    if not devtools.find():
        print("skipped: no chromium (Debian: chromium)")
        return 77
    wrong = []
    with devtools.Browser() as browser:
        first = "file://" + os.path.join(folder, "html/index.html")
        browser.open(first)
        heading = browser.wait("(document.querySelector('.contents h1, .headertitle .title') || {}).innerText")
        if not heading.startswith("xio"):
            wrong.append(f"the heading of the first page is {heading!r}")
        # The tree view is filled by scripts.
        browser.wait("document.querySelectorAll('#nav-tree-contents li').length > 3")
        browser.picture(os.path.join(folder, "first-page.png"))
        for words in SEARCHES:
            browser.open(first)
            browser.wait("typeof searchBox == 'object' && document.getElementById('MSearchField') !== null")
            entries = search(browser, words)
            print(f"{words}: {len(entries)} entries, {entries[:5]}")
            if words not in entries[:3]:
                wrong.append(f"a search for {words} does not show it first")
            time.sleep(0.5)  # the list fades in
            browser.picture(os.path.join(folder, f"search-{words}.png"))
        browser.open(first.replace("index.html", "group__kernel__nvme.html"))
        browser.picture(os.path.join(folder, "module.png"))
    print("\n".join(wrong + [f"pictures are in {folder}, {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
