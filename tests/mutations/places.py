# SPDX-License-Identifier: MIT
"""Places in C++ sources: markers such as "order: link before tail", and functions by name.

A marker is a comment that names a statement: the one that ends there, else the one that begins on its line; a comment
on a line of its own names the next one. The marker ends with its line or its first full stop, so a reason may follow.
Texts are compared by tokens: neither spaces nor comments count.
"""

import bisect
import collections
import functools
import re

# What a marker may begin with.
WORDS = {
    "order": "one step comes before another one, or is one step with it",
    "bound": "how much there may be at the same time",
    "check": "what is looked at before going on",
}
MARKER = re.compile(r"(?<!/)// ?(?P<word>[a-z]+): (?P<text>[^.\n]+)")
TOKEN = re.compile(r"""
    (?P<space>\s+|\\\n) | (?P<comment>//[^\n]*|/\*.*?\*/) | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<text>R"\((?s:.*?)\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
  | (?P<word>[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<sign><<=|>>=|\.\.\.|->|::|[-+*/%&|^=!<>]=|&&|\|\||\+\+|--|<<|.)""", re.VERBOSE | re.MULTILINE | re.DOTALL)
CLOSING = {"(": ")", "[": "]", "{": "}"}
NO_NAMES = {"__attribute__", "alignas", "decltype", "noexcept", "requires", "explicit", "sizeof", "__launch_bounds__"}
GOES_ON = {",", "{", ".", "(", ")", "->", "?", "+", "-", "&&", "||", "==", "!="}  # behind the } of an expression

Token = collections.namedtuple("Token", "text begin end")
Scope = collections.namedtuple("Scope", "path first last")  # numbers of the first token and of the one behind the last
Place = collections.namedtuple("Place", "source first last")


class PlaceError(Exception):
    """A place that the sources do not have, or have more than once."""


def tokens_of(text):
    return [Token(found.group(), found.start(), found.end()) for found in TOKEN.finditer(text)
            if found.lastgroup in ("text", "word", "sign")]


def words_of(text):
    return [token.text for token in tokens_of(text)]


class Source:
    """One file: its tokens, statements, scopes and markers."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.tokens = tokens_of(self.text)
        self.words = [token.text for token in self.tokens]
        self.lines = [0] + [found.end() for found in re.finditer("\n", self.text)]
        self.statements = []
        self.scopes = []
        self.match = self.brackets()
        self.body(0, len(self.tokens), ())

    def line(self, number):
        """The line of a token."""
        return bisect.bisect_right(self.lines, self.tokens[number].begin)

    def span(self, first, last):
        """Begin and end of tokens in the text."""
        return self.tokens[first].begin, self.tokens[last - 1].end

    def brackets(self):
        """For each opening bracket the number of the closing one."""
        match, open_ones = {}, []
        for number, word in enumerate(self.words):
            if word in CLOSING:
                open_ones.append(number)
            elif word in CLOSING.values():
                while open_ones and CLOSING[self.words[open_ones[-1]]] != word:
                    open_ones.pop()  # in branches of the preprocessor
                if open_ones:
                    match[open_ones.pop()] = number
        return match

    def closing(self, number):
        return self.match.get(number, len(self.words) - 1)

    def body(self, at, end, path):
        """Statements or declarations between two braces."""
        while at < end:
            at = max(self.statement(at, end, path), at + 1)

    def nested(self, first, last, path):
        """Bodies of lambda functions inside an expression."""
        at = first
        while at < last:
            if self.words[at] == "{":
                self.body(at + 1, self.closing(at), path)
                at = self.closing(at)
            at += 1

    def statement(self, at, end, path):
        """Notes the statement that begins at a token; returns the number of the one behind it."""
        first, word = at, self.words[at]
        if word in ("case", "default", "public", "private", "protected"):
            while at < end and self.words[at] != ":":
                at = self.closing(at) + 1 if self.words[at] in CLOSING else at + 1
            return at + 1
        if word == ";":
            return at + 1
        if word == "{":
            self.body(at + 1, self.closing(at), path)
            return self.closing(at) + 1
        place = len(self.statements)
        self.statements.append(None)
        if word in ("if", "for", "while", "switch"):
            at += 2 if self.words[at + 1] == "constexpr" else 1
            self.nested(at, self.closing(at), path)
            at = self.closing(at) + 1
            at = self.statement(at, end, path)
            if word == "if" and at < end and self.words[at] == "else":
                at = self.statement(at + 1, end, path)
        elif word == "do":
            at = self.statement(at + 1, end, path)
            while at < end and self.words[at] != ";":
                at += 1
            at += 1
        else:
            at = self.declaration(first, end, path)
        self.statements[place] = (first, min(at, end))
        return at

    def declaration(self, first, end, path):
        at, head = first, None
        while at < end and self.words[at] != ";":
            word = self.words[at]
            if word in "([" or word == "{" and self.words[at - 1] in ("=", "return", "(", ","):
                self.nested(at + 1, self.closing(at), path)
                at = self.closing(at) + 1
                continue
            if word != "{":
                at += 1
                continue
            head, names = self.name(first, at)
            scope = (*path, *names)
            self.body(at + 1, self.closing(at), scope)
            at = self.closing(at) + 1
            if names:
                self.scopes.append(Scope(scope, first, at))
            ends = at >= end or self.words[at] not in {*GOES_ON, ";"}
            if ends and head not in ("class", "struct", "union", "enum"):
                return at
        return at + 1

    def name(self, first, brace):
        """Kind and name of what begins at a token and has a brace: ("struct", ["Claim"])."""
        words, at = self.words[first:brace], 0
        while "template" in words[at:at + 1]:
            depth, at = 1, at + 2
            while at < len(words) and depth:
                depth += {"<": 1, ">": -1}.get(words[at], 0)
                at += 1
        depth = 0
        for i in range(at, len(words)):
            word = words[i]
            depth += (word in CLOSING) - (word in CLOSING.values())
            if word in ("namespace", "class", "struct", "union", "enum") and depth == 0:
                names = [w for w in words[i + 1:] if re.match(r"[A-Za-z_]", w)]
                names = [w for w in names if w not in ("class", "struct", "alignas") and not w.startswith("XIO_")]
                count = len(" ".join(words[i + 1:]).split("{")[0].split(":: ")) if word == "namespace" else 1
                return word, names[:count]
            if word == "(" and depth == 1 and i > at:
                before = words[i - 1]
                if before == "operator":
                    return "function", ["operator()"]
                if "operator" in words[max(at, i - 4):i]:
                    return "function", ["".join(words[words.index("operator", at):i])]
                if not re.match(r"[A-Za-z_]", before) or before in NO_NAMES or before.startswith("XIO_"):
                    continue
                names, i = [before], i - 2
                if words[i:i + 1] == ["~"]:
                    names, i = ["~" + before], i - 1
                while i > at and words[i] == "::" and re.match(r"[A-Za-z_]", words[i - 1]):
                    names.insert(0, words[i - 1])
                    i -= 2
                return "function", names
        return "value", []

    @functools.cached_property
    def markers(self):
        """Pairs of a marker and the statement that it names."""
        result = []
        begins = [token.begin for token in self.tokens]
        comment_at = 0  # the last line that was a comment and nothing else
        for found in TOKEN.finditer(self.text):
            if found.lastgroup != "comment":
                continue
            behind = bisect.bisect_left(begins, found.start())
            line = bisect.bisect_right(self.lines, found.start())
            has_code = behind != 0 and self.line(behind - 1) == line
            goes_on = not has_code and comment_at == line - 1
            if not has_code:
                comment_at = line
            marker = MARKER.match(found.group())
            if not marker or goes_on:
                continue
            if has_code:
                fits = ([s for s in self.statements if s[1] == behind] or
                        [s for s in self.statements if s[0] < behind and self.line(s[0]) == line])[:1]
            else:
                fits = [s for s in self.statements if s[0] == behind][:1]
            name = f"{marker['word']}: {marker['text'].strip()}"
            if marker["word"] not in WORDS:
                raise PlaceError(f"{self.path}:{line}: a marker begins with {', '.join(WORDS)}, not with: {name}")
            if not fits:
                raise PlaceError(f"{self.path}:{line}: no statement at the marker: {name}")
            result.append((name, fits[0]))
        return result


class Sources:
    """The library, which may have markers, the examples and xio-tester."""

    def __init__(self, project):
        self.library = project / "include/xio"
        self.texts = {path: path.read_text(encoding="utf-8") for folder in (self.library, project / "examples", project / "bench")
                      for path in sorted(folder.rglob("*")) if path.suffix in (".hpp", ".cpp")}
        self.source = functools.lru_cache(None)(Source)

    @functools.cached_property
    def markers(self):
        """Where each marker is."""
        result = collections.defaultdict(list)
        for path, text in self.texts.items():
            if self.library in path.parents and MARKER.search(text):
                for name, (first, last) in self.source(path).markers:
                    result[name].append(Place(self.source(path), first, last))
        return result

    def find(self, key):
        """What a place names: statements of a marker ("order: link before tail", with " in FUNCTION" those of one
        function), or all functions, types and namespaces of a name ("Claim::count")."""
        marker, _, name = key.rpartition(" in ")
        if not marker and ": " in key or key in self.markers:
            marker, name = key, ""
        if marker and not name:
            found = list(self.markers[marker])
        else:
            path = tuple(name.split("::"))
            scopes = [Place(self.source(file), scope.first, scope.last)
                      for file, text in self.texts.items() if path[-1] in text
                      for scope in self.source(file).scopes if scope.path[-len(path):] == path]
            found = [mark for mark in self.markers[marker] for scope in scopes if mark.source is scope.source and
                     scope.first <= mark.first < scope.last] if marker else scopes
        if not found:
            raise PlaceError(f"the sources have no {key}")
        return found

    def change(self, key, *edit):
        """What an edit of a place changes: the file, begin and end in its text, and what comes there.

        ("drop",) deletes the statement, ("swap",) exchanges it with the next one, ("*", NEW) replaces it, (OLD, NEW)
        replaces the tokens OLD, which it has once."""
        found = self.find(key)
        if len(edit) == 1 or edit[0] == "*":
            if ": " not in key or len(found) != 1:
                raise PlaceError(f"this is no single statement: {key}")
            source, first, last = found[0]
            begin, end = source.span(first, last)
            if edit[0] == "drop":
                return source.path, begin, end, ""
            if edit[0] == "*":
                return source.path, begin, end, edit[1]
            following = [statement for statement in source.statements if statement[0] == last]
            if edit[0] != "swap" or not following:
                raise PlaceError(f"{edit[0]} is impossible at {key}")
            begin_of_next, end_of_next = source.span(*following[0])
            swapped = source.text[begin_of_next:end_of_next] + "\n" + source.text[begin:end]
            return source.path, begin, end_of_next, swapped
        old = words_of(edit[0])
        hits = {(place.source, at) for place in found for at in range(place.first, place.last - len(old) + 1)
                if place.source.words[at:at + len(old)] == old}
        if len(hits) != 1:
            raise PlaceError(f"{key} has {len(hits)} times: {edit[0]}")
        source, at = hits.pop()
        return source.path, *source.span(at, at + len(old)), edit[1]

    def find_lines(self, key):
        """find() in what kernels include; "*" is all of it, "rdma/waits.hpp" what is on no line of that file."""
        if key == "*" or key.endswith(".hpp") and (self.library / "device" / key).is_file():
            return []
        folders = {self.library / "device", self.library / "vendors"}
        return [place for place in self.find(key) if folders & set(place.source.path.parents)]


def exemptions(path):
    """Rows of unneeded.txt: expressions for the target and for the change, the places, and the reason."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            parts = line.split("\t")
            if len(parts) != 4:
                raise PlaceError(f"{path.name}:{number}: wants four parts with tabs between")
            yield re.compile(parts[0]), re.compile(parts[1]), parts[2].split(", "), parts[3]
