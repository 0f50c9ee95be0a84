"""The code of a Swift file without comments and string literals, for the checks that read it.

Code inside of interpolations stays: "\\(a.count - 1)" traps like any other.
"""
import re
import typing

DULL = re.compile(r'[^/#"()]+')
OPENING = re.compile(r'#*"')
REGULAR_EXPRESSION = re.compile(r"(#+)/(.*?)/\1", re.S)


class Literal(typing.NamedTuple):
    """A string literal: where it begins and ends in the text, with its quotes, and what it says."""

    start: int
    end: int
    text: str


def code_of(text: str, literals: list[Literal] | None = None) -> str:
    """The same number of lines; comments are blank, string and regular expression literals are empty but for their interpolations.

    The literals of one line that have no interpolation are added to `literals`.
    """
    out: list[str] = []
    end = len(text)

    def blank(piece: str) -> None:
        out.append("\n" * piece.count("\n"))

    def string(at: int) -> int:
        """Reads a string literal at `at` (at its first # or quote) and gives the place behind it."""
        start, hashes = at, 0
        while text[at + hashes] == "#":
            hashes += 1
        at += hashes
        quote = '"""' if text.startswith('"""', at) else '"'
        at += len(quote)
        content, is_plain = at, quote == '"'
        closing, escape = quote + "#" * hashes, "\\" + "#" * hashes
        out.append('"')
        while at < end:
            if text.startswith(closing, at):
                out.append('"')
                if literals is not None and is_plain:
                    literals.append(Literal(start, at + len(closing), text[content:at]))
                return at + len(closing)
            if text.startswith(escape, at):
                at += len(escape)
                if at < end and text[at] == "(":
                    is_plain = False
                    out.append(" \\(")
                    at = code(at + 1, until_parenthesis=True)
                    out.append(") ")
                else:
                    blank(text[at])
                    at += 1
                continue
            if quote == '"' and text[at] == "\n":
                out.append('"')
                return at
            blank(text[at])
            at += 1
        return at

    def code(at: int, until_parenthesis: bool = False) -> int:
        depth = 0
        while at < end:
            dull = DULL.match(text, at)
            if dull:
                out.append(dull.group())
                at = dull.end()
                continue
            two = text[at : at + 2]
            if two == "//":
                while at < end and text[at] != "\n":
                    at += 1
                continue
            if two == "/*":
                nesting, at = 1, at + 2
                out.append(" ")
                while at < end and nesting:
                    if text[at : at + 2] == "/*":
                        nesting, at = nesting + 1, at + 2
                    elif text[at : at + 2] == "*/":
                        nesting, at = nesting - 1, at + 2
                    else:
                        blank(text[at])
                        at += 1
                continue
            if OPENING.match(text, at):
                at = string(at)
                continue
            regex = REGULAR_EXPRESSION.match(text, at)
            if regex:
                out.append("\"\"" + "\n" * regex.group().count("\n"))
                at = regex.end()
                continue
            character = text[at]
            if until_parenthesis:
                if character == "(":
                    depth += 1
                elif character == ")":
                    if depth == 0:
                        return at + 1
                    depth -= 1
            out.append(character)
            at += 1
        return at

    code(0)
    return "".join(out)
