"""Write the fixture book's notebook: every kind of output that a cell can leave behind."""

import base64
import io
import json
import sys
from pathlib import Path

from PIL import Image


def png(width: int, height: int) -> str:
    """A small gradient as base64 PNG."""
    file = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).save(file, "png")
    return base64.b64encode(file.getvalue()).decode()


SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40">'
    '<circle cx="20" cy="20" r="18" fill="#55a868"/></svg>'
)
TABLE = """<div>
<style scoped>.dataframe tbody tr th { vertical-align: top; }</style>
<table border="1" class="dataframe">
<thead><tr style="text-align: right;"><th></th><th>model</th><th>BLEU</th></tr></thead>
<tbody><tr><th>0</th><td>baseline</td><td>1.0</td></tr><tr><th>1</th><td>frozen</td><td>2.0</td></tr></tbody>
</table></div>"""


def plotly(points: int) -> dict:
    """A figure in the form that plotly's own renderer leaves in a notebook."""
    xs = list(range(points))
    return {
        "data": [
            {"type": "scatter", "mode": "lines", "name": "trained", "x": xs, "y": [x * 0.5 for x in xs]},
            {"type": "scatter", "mode": "lines", "name": "frozen", "x": xs, "y": [x**0.5 for x in xs]},
        ],
        "layout": {
            "title": {"text": f"A line through {points} points"},
            "xaxis": {"title": {"text": "steps"}},
            "yaxis": {"title": {"text": "loss (nats)"}},
        },
        "config": {"responsive": True},
    }


def data(bundle: dict, kind: str = "display_data") -> dict:
    extra = {"execution_count": 1} if kind == "execute_result" else {}
    return {"output_type": kind, "data": bundle, "metadata": {}, **extra}


CELLS: list[dict] = [
    {"markdown": "---\ntitle: The outputs\n---\n\nEverything that a cell can print.\n\n## Text"},
    {
        "code": "print('to standard output')",
        "outputs": [
            {"output_type": "stream", "name": "stdout", "text": "to standard output\n" + "x" * 300 + "\n"},
            {
                "output_type": "stream",
                "name": "stderr",
                "text": "a warning on \x1b[33mstandard error\x1b[0m\n",
            },
        ],
    },
    {"code": "2 + 2", "outputs": [data({"text/plain": "4"}, "execute_result")]},
    {
        "code": "1 / 0",
        "outputs": [
            {
                "output_type": "error",
                "ename": "ZeroDivisionError",
                "evalue": "division by zero",
                "traceback": [
                    "\x1b[31mZeroDivisionError\x1b[39m        Traceback (most recent call last)",
                    "\x1b[32m----> 1\x1b[39m 1 / 0 < 3",
                    "ZeroDivisionError: division by zero",
                ],
            }
        ],
    },
    {
        "code": "print('long')",
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "a long line of text\n" * 2500}],
    },
    {"markdown": "## Rich output\n\nA DataFrame, [](#cell-png), and LaTeX."},
    {
        "code": "frame",
        "outputs": [data({"text/html": TABLE, "text/plain": "   model  BLEU"}, "execute_result")],
    },
    {
        "code": "#| label: cell-png\n#| caption: A gradient, made by a cell.\n#| alt: A gradient.\nimage",
        "outputs": [data({"image/png": png(96, 64), "text/plain": "<Figure: a gradient>"})],
    },
    {"code": "vector", "outputs": [data({"image/svg+xml": SVG, "text/plain": "<Figure: a green disc>"})]},
    {
        "code": "formula",
        "outputs": [data({"text/latex": "$\\displaystyle \\frac{a}{b}$", "text/plain": "a/b"})],
    },
    {
        "code": "Markdown('*x*')",
        "outputs": [data({"text/markdown": "Some **bold** text", "text/plain": "<Markdown>"})],
    },
    {
        "code": "{'a': 1}",
        "outputs": [data({"application/json": {"a": [1, 2]}, "text/plain": "{'a': [1, 2]}"})],
    },
    {"markdown": "## Figures\n\nSmall ones lie in the page, large ones beside it."},
    {
        "code": "figure",
        "outputs": [data({"application/vnd.plotly.v1+json": plotly(20), "text/plain": "Figure(...)"})],
    },
    {
        "markdown": ":::{figure} #cell-plotly\n:label: fig-plotly\n:alt: Two lines that rise.\n"
        "A figure with a number, from a cell.\n:::\n\n[](#fig-plotly) is large."
    },
    {
        "code": "#| label: cell-plotly\n#| tags: [remove-cell]\nlarge",
        "outputs": [data({"application/vnd.plotly.v1+json": plotly(4000), "text/plain": "Figure(...)"})],
    },
    {"markdown": "## Widgets"},
    {
        "code": "widget",
        "outputs": [
            data(
                {
                    "application/vnd.jupyter.widget-view+json": {
                        "model_id": "abc",
                        "version_major": 2,
                        "version_minor": 0,
                    },
                    "text/plain": "An explorable: drag to see.",
                }
            )
        ],
    },
    {"markdown": "## Cells that hide"},
    {"code": "secret = 1", "tags": ["hide-input"], "outputs": [data({"text/plain": "input folded"})]},
    {"code": "secret = 2", "tags": ["remove-input"], "outputs": [data({"text/plain": "input gone"})]},
    {"code": "secret = 3", "tags": ["hide-output"], "outputs": [data({"text/plain": "output folded"})]},
    {"code": "secret = 4", "tags": ["remove-output"], "outputs": [data({"text/plain": "output gone"})]},
    {"code": "secret = 5", "tags": ["hide-cell"], "outputs": [data({"text/plain": "cell folded"})]},
    {"code": "secret = 6", "tags": ["remove-cell"], "outputs": [data({"text/plain": "cell gone"})]},
    {
        "markdown": "## A prediction\n\n:::{admonition} Before you look\n:class: prediction\n"
        "What is six times seven?\n\n- Forty-one.\n- Forty-two.\n:::"
    },
    {"code": "6 * 7", "outputs": [data({"text/plain": "the result"}, "execute_result")]},
    {"markdown": ":::{admonition} The answer\n:class: answer\nIt is the second.\n:::\n\nOn it goes."},
    {"raw": "a raw cell"},
]

WIDGETS = {
    "application/vnd.jupyter.widget-state+json": {
        "version_major": 2,
        "version_minor": 0,
        "state": {
            "abc": {
                "model_module": "anywidget",
                "model_module_version": "~0.11.*",
                "model_name": "AnyModel",
                "state": {
                    "_anywidget_id": "fixture.Widget",
                    "_esm": "export default { render({ model, el }) { el.textContent = model.get('value'); } };",
                    "value": 3,
                },
            }
        },
    }
}


def notebook() -> dict:
    cells = []
    for number, cell in enumerate(CELLS):
        kind = next(k for k in ("markdown", "code", "raw") if k in cell)
        made = {"cell_type": kind, "id": f"cell-{number}", "source": cell[kind], "metadata": {}}
        if kind == "code":
            made |= {"execution_count": 1, "outputs": cell["outputs"]}
            made["metadata"] = {"tags": cell["tags"]} if "tags" in cell else {}
        cells.append(made)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}, "widgets": WIDGETS}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def write(folder: Path) -> Path:
    path = folder / "outputs.ipynb"
    path.write_text(json.dumps(notebook()), encoding="utf-8")
    return path


if __name__ == "__main__":
    write(Path(sys.argv[1]))
