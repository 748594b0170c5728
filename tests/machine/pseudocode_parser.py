# SPDX-License-Identifier: MIT
"""Parses the pseudocode with which AMD's instruction set documents define instructions."""

import re

from pseudocode_values import NotEvaluated, Value, of_float

TOKEN = re.compile(
    r"\s*(?:(?P<cast>\d+'[UIFB])(?=\()|(?P<sized>\d+'(?:0x[0-9a-f]+|\d+)[UI]?)|(?P<real>\d+\.\d+F?)"
    r"|(?P<number>0x[0-9a-fA-F]+(?:U?LL|U)?|\d+(?:U?LL|U)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<operator><<|>>|<=|>=|==|!=|<>|&&|\|\||\+=|-=|[-+*/&|^~!<>=?:;,.(){}\[\]]))"
)
LEVELS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!=", "<>"], ["<", "<=", ">", ">="], ["<<", ">>"], ["+", "-"], ["*", "/"]]
WORDS = {"if", "then", "elsif", "else", "endif", "for", "in", "do", "endfor", "break", "return", "declare"}


def tokens_of(text):
    text = re.sub(r"//[^\n]*", "", text)
    tokens, at = [], 0
    while text[at:].strip():
        found = TOKEN.match(text, at)
        if not found:
            raise NotEvaluated(text[at : at + 30])
        tokens.append((found.lastgroup, found.group(found.lastgroup)))
        at = found.end()
    return tokens + [("end", "")]


class Parser:
    """Translates the text to nested tuples."""

    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.at = 0

    def peek(self, *texts):
        return self.tokens[self.at][1] in texts

    def take(self, text=None):
        kind, found = self.tokens[self.at]
        if text is not None and found != text:
            raise NotEvaluated(f"{found!r} where {text!r} is expected")
        self.at += 1
        return kind, found

    def block(self, *ends):
        statements = []
        while not self.peek("", *ends):
            if self.peek(";"):
                self.take()
            else:
                statements.append(self.statement())
        return statements

    def statement(self):
        if self.peek("if"):
            self.take()
            branches, otherwise = [], []
            while True:
                condition = self.expression()
                self.take("then")
                branches.append((condition, self.block("elsif", "else", "endif")))
                if self.take()[1] == "elsif":
                    continue
                if self.tokens[self.at - 1][1] == "else":
                    otherwise = self.block("endif")
                    self.take("endif")
                return ("if", branches, otherwise)
        if self.peek("for"):
            self.take()
            name = self.take()[1]
            self.take("in")
            first = self.expression()
            self.take(":")
            last = self.expression()
            self.take("do")
            body = self.block("endfor")
            self.take("endfor")
            return ("for", name, first, last, body)
        if self.peek("break"):
            self.take()
            return ("break",)
        if self.peek("declare"):
            while not self.peek(";"):
                self.take()
            return ("pass",)
        if self.peek("return"):
            self.take()
            return ("return", self.expression())
        target = self.postfix()
        operator = self.take()[1]
        if operator == "=" and self.peek("lambda"):
            return ("function", target[1], *self.function())
        if operator not in ("=", "+=", "-="):
            raise NotEvaluated(f"statement with {operator!r}")
        value = self.expression()
        return ("set", target, value if operator == "=" else ("binary", operator[0], target, value))

    def function(self):
        self.take("lambda")
        self.take("(")
        names = []
        while not self.peek(")"):
            if self.take()[0] == "name":
                names.append(self.tokens[self.at - 1][1])
        self.take(")")
        self.take("(")
        body = self.block(")")
        self.take(")")
        return names, body

    def expression(self):
        condition = self.binary(0)
        if not self.peek("?"):
            return condition
        self.take()
        yes = self.expression()
        self.take(":")
        return ("choice", condition, yes, self.expression())

    def binary(self, level):
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek(*LEVELS[level]):
            left = ("binary", self.take()[1], left, self.binary(level + 1))
        return left

    def unary(self):
        if self.peek("~", "!", "-"):
            return ("unary", self.take()[1], self.unary())
        return self.postfix()

    def postfix(self):
        value = self.primary()
        while self.peek(".", "["):
            if self.take()[1] == ".":
                value = ("view", value, self.take()[1])
                continue
            first = self.expression()
            if self.peek(":"):
                self.take()
                value = ("slice", value, first, self.expression())
            else:
                value = ("bit", value, first)
            self.take("]")
        return value

    def primary(self):
        kind, text = self.take()
        if text in ("(", "{"):
            parts = [self.expression()]
            while self.peek(","):
                self.take()
                parts.append(self.expression())
            self.take(")" if text == "(" else "}")
            return parts[0] if text == "(" else ("join", parts)
        if kind == "cast":
            width, to = text.split("'")
            self.take("(")
            value = self.expression()
            self.take(")")
            return ("cast", to.lower(), int(width), value)
        if kind == "sized":
            width, number = text.split("'")
            return ("value", Value(int(number.rstrip("UI"), 0), int(width)))
        if kind == "real":
            return ("value", of_float(float(text.rstrip("F")), 32 if text.endswith("F") else 64))
        if kind == "number":
            number = int(text.rstrip("UL"), 0)
            return ("value", Value(number, 64 if "LL" in text else 32, "u" if "U" in text else "i"))
        if kind != "name" or text in WORDS:
            raise NotEvaluated(f"{text!r} where a value is expected")
        if not self.peek("("):
            return ("name", text)
        self.take()
        arguments = []
        while not self.peek(")"):
            arguments.append(self.expression())
            if self.peek(","):
                self.take()
        self.take(")")
        return ("call", text, arguments)
