"""Charts of the explorer as Vega-Lite specifications in JSON; the page adds the rows."""

from __future__ import annotations

from typing import Any

Z = 1.959964
"""Standard errors in half a 95 % interval."""


def score_by_measure() -> dict[str, Any]:
    """Mean score by a measure of the items, in at most ten bins, with one line per subject.

    Rows have `subject`, `measure` and `score`. Whiskers are Wilson's 95 % intervals of scores from 0 to 1, with items
    taken as independent: an illustration, not a test.
    """
    spread = f"({Z * Z} / datum.items)"
    root = f"sqrt(max(0, datum.score * (1 - datum.score)) / datum.items + {spread} / (4 * datum.items))"
    whisker = f"{Z} * {root}"
    x = {"field": "middle", "type": "quantitative", "title": "measure", "scale": {"zero": False}}
    colour = {"field": "subject", "type": "nominal", "title": None, "legend": {"orient": "top", "columns": 1}}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"name": "answers"},
        "width": 600,
        "height": 300,
        "transform": [
            {"bin": {"maxbins": 10}, "field": "measure", "as": ["from", "to"]},
            {"calculate": "(datum.from + datum.to) / 2", "as": "middle"},
            {
                "aggregate": [
                    {"op": "mean", "field": "score", "as": "score"},
                    {"op": "count", "as": "items"},
                ],
                "groupby": ["subject", "middle"],
            },
            {"calculate": f"(datum.score + {spread} / 2 - {whisker}) / (1 + {spread})", "as": "low"},
            {"calculate": f"(datum.score + {spread} / 2 + {whisker}) / (1 + {spread})", "as": "high"},
        ],
        "encoding": {"x": x, "color": colour},
        "layer": [
            {
                "mark": {"type": "rule", "opacity": 0.5},
                "encoding": {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "line", "point": {"size": 60}},
                "encoding": {
                    "y": {"field": "score", "type": "quantitative", "title": "mean score"},
                    "tooltip": [
                        {"field": "subject"},
                        {"field": "middle", "title": "measure"},
                        {"field": "score", "format": ".2f"},
                        {"field": "items"},
                    ],
                },
            },
        ],
    }
