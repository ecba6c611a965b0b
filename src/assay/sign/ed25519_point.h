// Points of the twisted Edwards curve -x^2 + y^2 = 1 + d x^2 y^2 over the field of Ed25519. The addition law has no exceptions.
//
// Add, Double, Negate, Multiply, MultiplyBase and Encode take the same path for all points and scalars; Decode and IsSmallOrder are
// for public ones. Pure functions; thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "assay/sign/ed25519_field.h"
#include "assay/sign/ed25519_scalar.h"

namespace assay::ed25519 {

// Extended coordinates: x = X/Z, y = Y/Z, T = XY/Z.
struct Point {
  Fe x = kZero, y = kOne, z = kOne, t = kZero;  // the neutral element
};

Point Add(const Point& p, const Point& q);
Point Double(const Point& p);  // as Add(p, p), with less work
Point Negate(const Point& p);
Point Multiply(const Scalar& scalar, const Point& p);  // any 256-bit scalar
Point MultiplyBase(const Scalar& scalar);              // the base point, from a table that the first call makes
Point BasePoint();

std::array<std::uint8_t, 32> Encode(const Point& p);
// Empty for bytes that Encode never writes: y not below p, no such point, or the sign of x = 0 set.
std::optional<Point> DecodePoint(std::span<const std::uint8_t, 32> bytes);
bool IsSmallOrder(const Point& p);  // whether 8p is neutral

}  // namespace assay::ed25519
