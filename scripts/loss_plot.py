"""Line plots as SVG, written by hand: columns of panels that share their horizontal axis. For loss_curves.py and telemetry_plot.py."""
import math
from collections import namedtuple
from xml.sax.saxutils import escape

Curve = namedtuple("Curve", "label colour width dash points")
# floor: where the vertical axis begins, span: from where to where the horizontal one goes; none of them: as the points have it.
Panel = namedtuple("Panel", "title label logarithmic curves floor span", defaults=(None, None))

WIDTH, HEIGHT = 420, 240  # of a panel's frame
LEFT, TOP, GAP_X, GAP_Y, BOTTOM, LEGEND = 66, 40, 84, 34, 50, 30
FLOOR = 1e-8  # where a logarithmic axis ends


def linear_ticks(low, high):
    raw = (high - low) / 5
    power = 10 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


class Axes:
    """Where the points of a panel lie."""

    def __init__(self, panel, x, y):
        self.x, self.y, self.logarithmic = x, y, panel.logarithmic
        points = [p for curve in panel.curves for p in curve.points]
        self.steps = panel.span or (min(p[0] for p in points), max(max(p[0] for p in points), 2))
        values = [max(p[1], FLOOR) for p in points] if panel.logarithmic else [p[1] for p in points]
        low, high = min(values), max(values)
        if panel.logarithmic:
            self.low, self.high = math.floor(math.log10(low)), math.ceil(math.log10(high) + 1e-9)
            self.ticks = [(k, f"10<tspan dy='-4' font-size='9'>{k}</tspan>") for k in range(self.low, self.high + 1)]
        else:
            margin = 0.05 * (high - low) or 1
            self.low, self.high = low - margin if panel.floor is None else panel.floor, high + margin
            self.ticks = [(t, f"{t:g}") for t in linear_ticks(self.low, self.high)]

    def across(self, step):
        return self.x + WIDTH * (step - self.steps[0]) / (self.steps[1] - self.steps[0])

    def up(self, scaled):
        return self.y + HEIGHT * (self.high - scaled) / (self.high - self.low)

    def path(self, curve):
        scale = (lambda v: math.log10(max(v, FLOOR))) if self.logarithmic else (lambda v: v)
        return "M" + "L".join(f"{self.across(s):.1f},{self.up(scale(v)):.1f}" for s, v in curve.points)


def text(x, y, content, anchor="middle", extra=""):
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' {extra}>{content}</text>"


def draw_panel(panel, x, y, last, across):
    axes, out = Axes(panel, x, y), []
    out.append(f"<rect x='{x}' y='{y}' width='{WIDTH}' height='{HEIGHT}' fill='#ffffff' stroke='#9ca3af'/>")
    for value, label in axes.ticks:
        at = axes.up(value)
        out.append(f"<path d='M{x},{at:.1f}h{WIDTH}' stroke='#e5e7eb'/>")
        out.append(text(x - 7, at + 4, label, "end"))
    for step in [axes.steps[0], *(t for t in linear_ticks(*axes.steps) if t > axes.steps[0])]:
        at = axes.across(step)
        out.append(f"<path d='M{at:.1f},{y + HEIGHT}v4' stroke='#9ca3af'/>")
        if last:
            out.append(text(at, y + HEIGHT + 18, f"{step:g}"))
    for curve in panel.curves:
        dash = f" stroke-dasharray='{curve.dash}'" if curve.dash else ""
        out.append(f"<path d='{axes.path(curve)}' fill='none' stroke='{curve.colour}' stroke-width='{curve.width}' stroke-linejoin='round'{dash}/>")
    middle = y + HEIGHT / 2
    out.append(text(x - 48, middle, escape(panel.label), extra=f"transform='rotate(-90 {x - 48} {middle})'"))
    if panel.title:
        out.append(text(x + WIDTH / 2, y - 12, escape(panel.title), extra="font-size='14' font-weight='bold'"))
    if last:
        out.append(text(x + WIDTH / 2, y + HEIGHT + 36, across))
    return out


def draw_legend(curves, y):
    out, x, seen = [], LEFT, set()
    for curve in curves:
        if curve.label in seen:
            continue
        seen.add(curve.label)
        dash = f" stroke-dasharray='{curve.dash}'" if curve.dash else ""
        out.append(f"<path d='M{x},{y}h30' stroke='{curve.colour}' stroke-width='{max(curve.width, 1.6)}'{dash}/>")
        out.append(text(x + 36, y + 4, escape(curve.label), "start"))
        x += 60 + 7 * len(curve.label)
    return out


def draw(columns, across="step", legend=True):
    """`columns` is a list of lists of panels; `across` names what the horizontal axis counts."""
    rows = max(len(column) for column in columns)
    width = LEFT + len(columns) * WIDTH + (len(columns) - 1) * GAP_X + 24
    height = TOP + rows * HEIGHT + (rows - 1) * GAP_Y + BOTTOM + (LEGEND if legend else 0)
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
           "font-family='sans-serif' font-size='12' fill='#1f2937'>", f"<rect width='{width}' height='{height}' fill='#fafaf9'/>"]
    for i, column in enumerate(columns):
        for j, panel in enumerate(column):
            out += draw_panel(panel, LEFT + i * (WIDTH + GAP_X), TOP + j * (HEIGHT + GAP_Y), j == len(column) - 1, across)
    if legend:
        out += draw_legend(columns[0][0].curves, height - 18)
    return "\n".join([*out, "</svg>"]) + "\n"
