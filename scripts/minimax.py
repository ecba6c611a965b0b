#!/usr/bin/env python3
"""Derives the polynomial coefficients of src/assay/numerics/{exponential,circular}.inc.

Each polynomial is a near-minimax fit whose coefficients are rounded to binary32 one at a time, lowest order first, with the
remaining ones fitted again after each rounding. Prints C++ hexadecimal constants and the error that is left. Needs mpmath.
"""
import struct
import sys

from mpmath import mp, mpf, cos, erf, erfc, exp, log, log1p, lu_solve, matrix, pi, sin, sqrt, tanh

mp.dps = 40


def to_float(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def to_hex(x):
    mantissa, exponent = float(x).hex().split("p")
    head, _, tail = mantissa.partition(".")
    tail = tail.rstrip("0")
    return f"{head}{'.' + tail if tail else ''}p{int(exponent)}f"


def minimax(target, weight, powers, low, high):
    """Coefficients c that nearly minimise max |weight(x) (sum c_k x^powers_k - target(x))|: Lawson's reweighted least squares."""
    n, points = len(powers), 160
    xs = [(low + high) / 2 - (high - low) / 2 * cos(pi * (i + mpf(1) / 2) / points) for i in range(points)]
    rows = [[weight(x) * x**p for p in powers] for x in xs]
    values = [weight(x) * target(x) for x in xs]
    lawson = [mpf(1)] * points
    for _ in range(12):
        a, b = matrix(n, n), matrix(n, 1)
        for row, value, w in zip(rows, values, lawson):
            for j in range(n):
                b[j] += w * row[j] * value
                for k in range(n):
                    a[j, k] += w * row[j] * row[k]
        c = lu_solve(a, b)
        errors = [abs(sum(c[k] * row[k] for k in range(n)) - value) for row, value in zip(rows, values)]
        mean = sum(w * e for w, e in zip(lawson, errors)) / sum(lawson)
        lawson = [w * e / mean for w, e in zip(lawson, errors)] if mean else lawson
    return [c[k] for k in range(n)]


def fit(name, target, weight, powers, low, high):
    low, high = mpf(low), mpf(high)
    fixed = []
    for k in range(len(powers)):
        rest = lambda x: target(x) - sum(c * x**p for c, p in zip(fixed, powers))
        fixed.append(to_float(minimax(rest, weight, powers[k:], low, high)[0]))
    worst = max(
        abs(weight(x) * (sum(c * x**p for c, p in zip(fixed, powers)) - target(x)))
        for x in (low + (high - low) * mpf(i) / 2000 for i in range(1, 2001)))
    print(f"{name}: error 2^{float(log(worst, 2)):.2f}")
    for c, p in zip(fixed, powers):
        print(f"  x^{p}: {to_hex(c)}")


FITS = {
    # exp(r) = 1 + r + r^2 (...)
    "exp": lambda: fit("exp", lambda r: exp(r) - 1 - r, lambda r: exp(-r), [2, 3, 4, 5, 6], "-0.3467", "0.3467"),
    # log(1 + f) = f - f^2 / 2 + f^3 (...)
    "log": lambda: fit("log", lambda f: log1p(f) - f + f * f / 2, lambda f: 1 / (log1p(f) if f else mpf("1e-20")),
                       list(range(3, 11)), "-0.33334", "0.33334"),
    # tanh(x) = x + x^3 (...) in x^2
    "tanh": lambda: fit("tanh", lambda z: tanh(sqrt(z)) / sqrt(z) - 1, lambda z: sqrt(z) / tanh(sqrt(z)), [1, 2, 3, 4, 5],
                        "1e-9", "0.37"),
    # erf(x) = x + x (...) in x^2
    "erf": lambda: fit("erf", lambda z: erf(sqrt(z)) / sqrt(z) - 1, lambda z: sqrt(z) / erf(sqrt(z)), [0, 1, 2, 3, 4, 5, 6],
                       "1e-9", "1.0"),
    # erf(1 + t) = 1 - exp(-(...))
    "erfc": lambda: fit("erfc", lambda t: -log(erfc(1 + t)), lambda t: erfc(1 + t), [0, 1, 2, 3, 4, 5, 6, 7], "0", "2.95"),
    # sin(r) = r + r^3 (...) in r^2
    "sin": lambda: fit("sin", lambda z: sin(sqrt(z)) / sqrt(z) - 1, lambda z: sqrt(z) / sin(sqrt(z)), [1, 2, 3, 4], "1e-9", "0.64"),
    # cos(r) = 1 - r^2 / 2 + r^4 (...) in r^2
    "cos": lambda: fit("cos", lambda z: cos(sqrt(z)) - 1 + z / 2, lambda z: 1 / cos(sqrt(z)), [2, 3, 4], "1e-9", "0.64"),
}

for wanted in sys.argv[1:] or FITS:
    FITS[wanted]()
