#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""draw.py TEXT SVG [--check]: draws the sequence charts of a text, side by side; --check only compares the SVG."""
import re
import sys
from html import escape

ROW, TOP, PLACE, MARGIN, WORDS = 40, 74, 180, 16, 70
STYLE = ("text{font:13px sans-serif;fill:#222}.t{font-weight:bold;font-size:15px}"
         ".p{font-weight:bold;text-anchor:middle}.s{font-weight:bold;fill:#1a5fb4}.c{text-anchor:middle}"
         "line{stroke:#ddd}path{stroke:#1a5fb4;stroke-width:1.5;fill:none}rect.d{fill:#1a5fb4}")


def panels(text):
    """A list of (title, places, steps); a step is (from, to or none, word, remark)."""
    found = []
    for line in text.split("\n"):
        if line.startswith("panel "):
            found.append((line[6:], [], []))
        elif line.startswith("places "):
            found[-1][1].extend(line[7:].split(", "))
        elif match := re.match(r"([^#:>]+?)(?: > ([^:]+))?: ([^|]+) \| (.*)$", line):
            found[-1][2].append(match.groups())
        elif line and not line.startswith("#"):
            raise SystemExit(f"not understood: {line}")
    return found


def draw_panel(left, title, places, steps, height):
    at = {name: left + WORDS + PLACE * (0.5 + number) for number, name in enumerate(places)}
    parts = [f'<text class="t" x="{left + MARGIN}" y="26">{escape(title)}</text>']
    for name, x in at.items():
        parts.append(f'<text class="p" x="{x:g}" y="54">{escape(name)}</text>'
                     f'<line x1="{x:g}" y1="62" x2="{x:g}" y2="{height - 12}"/>')
    for number, (start, end, word, remark) in enumerate(steps):
        y = TOP + ROW * (number + 0.7)
        unknown = {start, end or start} - set(at)
        if unknown:
            raise SystemExit(f"{title}: no such place: {unknown}")
        parts.append(f'<text class="s" x="{left + MARGIN}" y="{y:g}">{escape(word)}</text>')
        remark = escape(remark, quote=False)
        if end is None:
            parts.append(f'<rect class="d" x="{at[start] - 4:g}" y="{y - 8:g}" width="8" height="8"/>'
                         f'<text x="{at[start] + 12:g}" y="{y:g}">{remark}</text>')
            continue
        way = 1 if at[end] > at[start] else -1
        parts.append(f'<path marker-end="url(#a)" d="M{at[start]:g} {y:g}H{at[end] - 3 * way:g}"/>'
                     f'<text class="c" x="{(at[start] + at[end]) / 2:g}" y="{y - 8:g}">{remark}</text>')
    return parts


def draw(text):
    found = panels(text)
    height = TOP + ROW * max(len(steps) for _, _, steps in found) + 24
    parts, left = [], 0
    for title, places, steps in found:
        parts += draw_panel(left, title, places, steps, height)
        left += WORDS + PLACE * len(places) + MARGIN
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left} {height}" width="{left}" height="{height}">'
            f'<style>{STYLE}</style><defs><marker id="a" markerWidth="8" markerHeight="8" refX="6" refY="4"'
            ' orient="auto"><path d="M1 1L7 4L1 7"/></marker></defs>'
            '<rect width="100%" height="100%" fill="#fff"/>')
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        made = draw(file.read())
    if sys.argv[3:] == ["--check"]:
        with open(sys.argv[2], encoding="utf-8") as file:
            same = file.read() == made
        if not same:
            print(f"{sys.argv[2]} is out of date: {sys.argv[0]} {sys.argv[1]} {sys.argv[2]}")
        return 0 if same else 1
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
