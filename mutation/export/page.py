"""One HTML file that needs nothing else: the matrix, folded by library and by test file."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def page(document: dict[str, Any]) -> str:
    """Fill the template; the script in it draws the rows of the document that it carries."""
    environment = Environment(
        loader=PackageLoader("mutation.export", "page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("page.html").render(document=document)
