"""A reader of TensorBoard's event files, written from their format: TFRecord frames with masked CRC-32C, and in each an Event protocol buffer.

    event_files.py FOLDER       prints the tags with the number of points of each
    event_files.py              tests itself
"""

import collections
import pathlib
import struct
import sys

Point = collections.namedtuple("Point", "step wall_time value")


class Malformed(Exception):
    pass


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


TABLE = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frames(data):
    """The records of a file. A beginning of one at the end is what a killed writer leaves, and is passed over, as readers do."""
    at = 0
    while at < len(data):
        if len(data) - at < 12:
            return
        length, check = struct.unpack_from("<QI", data, at)
        if masked(data[at:at + 8]) != check:
            raise Malformed(f"byte {at}: the checksum of a length")
        if len(data) - at < 16 + length:
            return
        body = data[at + 12:at + 12 + length]
        if masked(body) != struct.unpack_from("<I", data, at + 12 + length)[0]:
            raise Malformed(f"byte {at}: the checksum of a record")
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("a number without an end")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data):
    """(number, wire type, value) of each field of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise Malformed("a field that is cut off")
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise Malformed("a field that is cut off")
        else:
            raise Malformed(f"the wire type {kind}")
        yield key >> 3, kind, value


def tensor_scalar(data):
    """The one number of a TensorProto: DT_FLOAT in float_val or the bytes, DT_DOUBLE likewise."""
    kind, content, numbers = 0, b"", []
    for number, wire, value in fields(data):
        if number == 1:
            kind = value
        elif number == 4:
            content = value
        elif number == 5:
            numbers += struct.unpack(f"<{len(value) // 4}f", value)
        elif number == 6:
            numbers += struct.unpack(f"<{len(value) // 8}d", value)
    if content and not numbers:
        numbers = struct.unpack("<f" if kind == 1 else "<d", content)
    if len(numbers) != 1:
        raise Malformed("a tensor that is no scalar")
    return numbers[0]


def event(data):
    """(wall time, step, version, session start?, {tag: value})."""
    wall, step, version, start, scalars = None, 0, None, False, {}
    for number, wire, value in fields(data):
        if number == 1 and wire == 1:
            wall = struct.unpack("<d", value)[0]
        elif number == 2 and wire == 0:
            step = value - (1 << 64) if value >> 63 else value
        elif number == 3 and wire == 2:
            version = value.decode()
        elif number == 7 and wire == 2:  # SessionLog; its status START (1) says that what follows is computed again
            start = any(inner == 1 and status == 1 for inner, _, status in fields(value))
        elif number == 5 and wire == 2:
            for inner, _, part in fields(value):
                if inner != 1:
                    continue
                tag, scalar = None, None
                for key, kind, content in fields(part):
                    if key == 1:
                        tag = content.decode()
                    elif key == 2 and kind == 5:
                        scalar = struct.unpack("<f", content)[0]
                    elif key == 8:
                        scalar = tensor_scalar(content)
                if tag is None or scalar is None:
                    raise Malformed("a value without tag or number")
                scalars[tag] = scalar
    if wall is None:
        raise Malformed("an event without a time")
    return wall, step, version, start, scalars


def read(folder):
    """{tag: [Point]} of a run's folder, over all of its files, as TensorBoard shows it: what a restarted run computes again replaces what it said before."""
    points = collections.defaultdict(list)
    files = sorted(pathlib.Path(folder).glob("*tfevents*"))
    if not files:
        raise Malformed(f"{folder}: no event files")
    for path in files:
        first = True
        for record in frames(path.read_bytes()):
            wall, step, version, start, scalars = event(record)
            if first and not (version or "").startswith("brain.Event:"):
                raise Malformed(f"{path.name}: does not begin with its version")
            first = False
            if start:
                for tag in points:
                    points[tag] = [point for point in points[tag] if point.step < step]
            for tag, value in scalars.items():
                points[tag].append(Point(step, wall, value))
    return dict(points)


def test_itself():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    body = struct.pack("<Bd", 9, 1.5) + bytes([16, 7]) + bytes([42, 13, 10, 11, 10, 4]) + b"loss" + bytes([21]) + struct.pack("<f", 2.5)[:4]
    wall, step, version, start, scalars = event(body)
    assert (wall, step, scalars) == (1.5, 7, {"loss": 2.5}), (wall, step, scalars)
    tensor = bytes([8, 1, 42, 4]) + struct.pack("<f", 3.25)
    assert tensor_scalar(tensor) == 3.25
    head = struct.pack("<Q", len(body))
    frame = head + struct.pack("<I", masked(head)) + body + struct.pack("<I", masked(body))
    assert list(frames(frame + frame[:20])) == [body]
    for at in (0, 9, 14, len(frame) - 1):
        broken = bytearray(frame)
        broken[at] ^= 1
        try:
            list(frames(bytes(broken)))
        except Malformed:
            continue
        raise SystemExit(f"a record with byte {at} changed was read")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for name, found in sorted(read(sys.argv[1]).items()):
            print(f"{name:<20} {len(found)} points, steps {found[0].step}..{found[-1].step}")
    else:
        test_itself()
