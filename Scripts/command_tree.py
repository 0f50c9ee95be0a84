"""What the program says of its own commands, for the pages that are made from it (Scripts/doc-commands, packaging/man-page)."""
import json
import subprocess


class Command:
    """One command: its words, its sentence, its prose, its examples and its arguments."""

    def __init__(self, words, node):
        self.words = words
        self.name = " ".join(words)
        self.abstract = node.get("abstract", "")
        self.arguments = [Argument(a) for a in node.get("arguments", []) if a.get("shouldDisplay", True)]
        self.subcommands = [Command(words + [s["commandName"]], s) for s in node.get("subcommands", []) if s["commandName"] != "help"]
        self.prose, self.examples = [], []
        for paragraph in node.get("discussion", "").split("\n\n"):
            first = paragraph.split("\n")[0]
            if first.lower().startswith("example") and (first.rstrip().endswith(":") or first.isupper()):
                self.examples.append("\n".join(line.removeprefix("  ") for line in paragraph.split("\n")[1:]))
            elif first.startswith("Example: "):
                self.examples.append(paragraph.removeprefix("Example: "))
            elif paragraph.strip():
                self.prose.append(paragraph)

    def leaves(self):
        """The commands below, and this one, that do something themselves."""
        if not self.subcommands:
            yield self
        for command in self.subcommands:
            yield from command.leaves()

    @property
    def synopsis(self):
        """The command with its positional arguments, as one types it."""
        words = [self.name, "[options]"] if any(not a.is_positional for a in self.arguments) else [self.name]
        return " ".join(words + [a.shown for a in self.arguments if a.is_positional])


class Argument:
    """An option, a flag or a positional argument."""

    def __init__(self, node):
        self.is_positional = node["kind"] == "positional"
        self.takes_value = node["kind"] == "option"
        self.value = node.get("valueName", "value")
        self.is_repeating = node.get("isRepeating", False)
        self.is_optional = node.get("isOptional", True)
        self.meaning = node.get("abstract", "")
        self.default = node.get("defaultValue")
        self.names = [("--" if name["kind"] == "long" else "-") + name["name"] for name in node.get("names", [])]

    @property
    def shown(self):
        if self.is_positional:
            text = self.value + ("..." if self.is_repeating else "")
            return f"[{text}]" if self.is_optional else text
        return ", ".join(self.names) + (f" {self.value}" if self.takes_value else "")


def read(program):
    """The whole tree of a built program."""
    text = subprocess.run([program, "--experimental-dump-help"], check=True, capture_output=True, text=True).stdout
    node = json.loads(text)["command"]
    return Command([node["commandName"]], node)


def version(program):
    return subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
