"""The atlas as one HTML file: a table that sorts and filters, and behind each cell its numbers and a script."""

import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment

from . import as_json, repro
from .cell import NO_READING, Result
from .heads import CAUSAL


def page(results: list[Result], head: str = CAUSAL) -> str:
    """The page, with nothing to load from elsewhere."""
    told = as_json.document(results, head)
    template = Environment(autoescape=True).from_string(files(__package__).joinpath("page.html").read_text())
    built = [result for result in results if not result.reason]
    return template.render(
        versions=told["versions"],
        head=head,
        checks=told["checks"],
        results=sorted(results, key=lambda r: r.name),
        built=len(built),
        conclusive=sum(all(c.status != NO_READING for c in r.cells.values()) for r in built),
        scripts=embedded(scripts(results, head)),
    )


def scripts(results: list[Result], head: str = CAUSAL) -> dict[str, Any]:
    """Each tail once, and for each architecture its config and the number of its tail for each check."""
    tails: dict[str, int] = {}
    found = {}
    for result in results:
        config = repro.script(result.name, result.config, "\n\n", head)
        numbers = {check: tails.setdefault(tail, len(tails)) for check, tail in result.tails.items()}
        found[result.name] = {"config": config, "tails": numbers}
    return {"tails": list(tails), "architectures": found}


def embedded(value: Any) -> str:
    """JSON that no text in it can end the script element around it."""
    return json.dumps(value).replace("<", "\\u003c")
