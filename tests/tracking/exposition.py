"""A strict reader of the text format of Prometheus (version 0.0.4), written from its published description.

What a lenient scraper lets pass is refused here: a sample before its TYPE, a metric in two places, a series twice, an escape that is none, a histogram that does not
add up. `parse` gives families by name; `Malformed` says which line is not of the format and why.

    exposition.py [FILE]     reads a page; without a file it tests itself
"""

import re
import sys

TYPES = ("counter", "gauge", "histogram", "summary", "untyped")
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|[+-]Inf")
STAMP = re.compile(r"-?[0-9]+")


class Malformed(Exception):
    pass


class Family:
    def __init__(self, name):
        self.name, self.type, self.help, self.samples = name, None, None, {}


def unescaped(text, escapes):
    out, at = "", 0
    while at < len(text):
        if text[at] == "\\":
            pair = text[at:at + 2]
            if pair not in escapes:
                raise Malformed(f"the escape {pair!r}")
            out += escapes[pair]
            at += 2
        else:
            out += text[at]
            at += 1
    return out


def labels_of(line, at):
    """The labels from the bracket on, and where they end."""
    labels = {}
    at += 1
    while True:
        if line[at:at + 1] == "}":
            return labels, at + 1
        name = LABEL.match(line, at)
        if not name or line[name.end():name.end() + 2] != '="':
            raise Malformed("a label without name, '=' and a quoted value")
        if name.group().startswith("__"):
            raise Malformed(f"the label {name.group()}, whose name is reserved")
        value = re.compile(r'((?:[^"\\]|\\.)*)"').match(line, name.end() + 2)
        if not value:
            raise Malformed("a label's value without an end")
        if name.group() in labels:
            raise Malformed(f"the label {name.group()} twice")
        labels[name.group()] = unescaped(value.group(1), {"\\\\": "\\", '\\"': '"', "\\n": "\n"})
        at = value.end()
        if line[at:at + 1] == ",":
            at += 1
        elif line[at:at + 1] != "}":
            raise Malformed("labels without ',' or '}'")


def sample_of(line):
    name = NAME.match(line)
    if not name:
        raise Malformed("no metric's name")
    labels, at = labels_of(line, name.end()) if line[name.end():name.end() + 1] == "{" else ({}, name.end())
    words = line[at:].split()
    if not line[at:at + 1].isspace() or not 1 <= len(words) <= 2 or not NUMBER.fullmatch(words[0]):
        raise Malformed("no value")
    if len(words) == 2 and not STAMP.fullmatch(words[1]):
        raise Malformed("a timestamp that is no number of milliseconds")
    return name.group(), labels, float(words[0].replace("Inf", "inf")), int(words[1]) if len(words) == 2 else None


def family_name(name, families):
    """Histograms and summaries have several names."""
    for suffix in ("_bucket", "_sum", "_count"):
        base = name[:-len(suffix)]
        if name.endswith(suffix) and base in families and families[base].type in ("histogram", "summary") \
                and not (suffix == "_bucket" and families[base].type == "summary"):
            return base
    return name


def check_histogram(family):
    groups = {}
    for (name, labels), (value, _) in family.samples.items():
        rest = tuple(pair for pair in labels if pair[0] != "le")
        group = groups.setdefault(rest, {"buckets": []})
        if name.endswith("_bucket"):
            bound = dict(labels).get("le")
            if bound is None or not NUMBER.fullmatch(bound):
                raise Malformed(f"{family.name}: a bucket without le")
            group["buckets"].append((float(bound.replace("Inf", "inf")), value))
        elif name != family.name:
            group[name[len(family.name):]] = value
        else:
            raise Malformed(f"{family.name}: a histogram with a plain sample")
    for rest, group in groups.items():
        bounds = [bound for bound, _ in group["buckets"]]
        counts = [count for _, count in group["buckets"]]
        if not bounds or bounds != sorted(set(bounds)) or bounds[-1] != float("inf") or counts != sorted(counts):
            raise Malformed(f"{family.name}{dict(rest)}: buckets that are not cumulative up to +Inf")
        if group.get("_count") != counts[-1] or "_sum" not in group:
            raise Malformed(f"{family.name}{dict(rest)}: _count is not that of +Inf, or _sum is missing")


def parse(text):
    if text and not text.endswith("\n"):
        raise Malformed("the last line has no end")
    families, closed, current = {}, set(), None

    def enter(name):
        nonlocal current
        if current != name:
            if name in closed:
                raise Malformed(f"{name} stands in two places")
            closed.add(name)
            current = name
        return families.setdefault(name, Family(name))

    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            if not line.strip():
                continue
            if line.startswith("#"):
                words = line.split(maxsplit=3)
                if len(words) < 3 or words[0] != "#" or words[1] not in ("HELP", "TYPE"):
                    continue  # a comment
                if not NAME.fullmatch(words[2]):
                    raise Malformed("HELP or TYPE of what is no name")
                family = enter(words[2])
                if words[1] == "HELP":
                    if family.help is not None or family.samples:
                        raise Malformed("HELP twice, or after samples")
                    family.help = unescaped(words[3] if len(words) > 3 else "", {"\\\\": "\\", "\\n": "\n"})
                else:
                    if family.type is not None or family.samples:
                        raise Malformed("TYPE twice, or after samples")
                    if len(words) < 4 or words[3] not in TYPES:
                        raise Malformed("TYPE without a type")
                    family.type = words[3]
                continue
            name, labels, value, stamp = sample_of(line)
            family = enter(family_name(name, families))
            key = (name, tuple(sorted(labels.items())))
            if key in family.samples:
                raise Malformed("the same series twice")
            if family.type == "counter" and value < 0:
                raise Malformed("a counter below 0")
            family.samples[key] = (value, stamp)
        except Malformed as error:
            raise Malformed(f"line {number}: {error}: {line!r}") from None
    for family in families.values():
        if family.type == "histogram":
            check_histogram(family)
    return families


def series(families, name):
    """[(labels, value)] of a metric."""
    return [(dict(labels), value) for (found, labels), (value, _) in families[name].samples.items() if found == name] if name in families else []


GOOD = r"""# a comment
# HELP a_total What is \\ counted\nhere
# TYPE a_total counter
a_total{x="1",y="a\\b\"c\nd",} 3
a_total 1e3 1700000000000

b NaN
# TYPE h histogram
h_bucket{le="0.5"} 1
h_bucket{le="+Inf"} 2
h_sum 4.5
h_count 2
"""
BAD = ["a 1", "a\n", "a one\n", "1a 1\n", "a{x=1} 1\n", 'a{x="1" y="2"} 1\n', 'a{x="1} 1\n', r'a{x="\t"} 1' + "\n", 'a{x="1",x="2"} 1\n', 'a{1x="1"} 1\n',
       'a{__x="1"} 1\n', "a 1\na 2\n", "a 1\nb 1\na 2\n", "# TYPE a gauge\n# TYPE a gauge\na 1\n", "a 1\n# TYPE a gauge\n", "# TYPE a thing\na 1\n",
       "# TYPE a counter\na -1\n", "a 1 1.5\n", "a 1 2 3\n", "a nan\n", "a inf\n", "a 0x10\n", "a{} 1\na 2\n", r"# HELP a \t" + "\n",
       '# TYPE h histogram\nh_bucket{le="1"} 1\nh_sum 1\nh_count 1\n', '# TYPE h histogram\nh_bucket{le="1"} 3\nh_bucket{le="+Inf"} 2\nh_sum 1\nh_count 2\n',
       '# TYPE h histogram\nh_bucket{le="+Inf"} 2\nh_sum 1\nh_count 3\n', "# TYPE h histogram\nh 1\n"]


def test_itself():
    families = parse(GOOD)
    assert families["a_total"].help == "What is \\ counted\nhere" and families["a_total"].type == "counter"
    assert ({"x": "1", "y": 'a\\b"c\nd'}, 3.0) in series(families, "a_total")
    assert len(families["h"].samples) == 4 and families["b"].type is None
    for page in BAD:
        try:
            parse(page)
        except Malformed:
            continue
        raise SystemExit(f"taken for a page: {page!r}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print({name: len(family.samples) for name, family in parse(open(sys.argv[1], newline="").read()).items()})
    else:
        test_itself()
