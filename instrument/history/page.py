"""The table as one page of HTML that loads nothing."""

from jinja2 import Environment

from .table import Column, beside, checks_of, life, status

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>weighbridge history: {{ library }}</title>
<style>
body { font: 14px sans-serif; margin: 2em } td, th { padding: .2em .6em; border: 1px solid #ccc; text-align: left }
table { border-collapse: collapse; margin-bottom: 2em } .ok { background: #dfd } .known { background: #ffd }
.FAULT { background: #fbb }
</style>
<h1>{{ library }}, release by release</h1>
<table><tr><th>check</th>{% for column in columns %}<th>{{ column.release }}</th>{% endfor %}</tr>
{% for name in names %}<tr><th>{{ name }}</th>{% for column in columns %}
<td class="{{ status(column, name) }}" title="{{ column.cells.get(name, {}).get('measured', column.reason) }}">
{{- status(column, name) }}</td>{% endfor %}</tr>
{% endfor %}</table>
<h2>The life of each</h2>
<ul>{% for name in names %}<li><b>{{ name }}</b>: {{ life(columns, name) }}</li>{% endfor %}</ul>
<h2>What stood in each environment</h2>
<ul>{% for column in columns %}<li><b>{{ column.release }}</b>: {{ beside(column) }}</li>{% endfor %}</ul>
</html>
"""


def page(library: str, columns: list[Column]) -> str:
    """The whole page."""
    template = Environment(autoescape=True).from_string(PAGE)
    given = {"library": library, "columns": columns, "names": checks_of(columns)}
    return template.render(**given, status=status, life=life, beside=beside)
