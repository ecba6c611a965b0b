"""A reader of telemetry.bin, written from docs/formats/telemetry.md. It checks the chain of hashes; signatures are `assay check`'s business.

    telemetry_file.py RUN        prints what the file holds
"""
import base64
import hashlib
import pathlib
import struct
import sys
from collections import namedtuple

HEAD = b"assay/telemetry/1\n"
GPU = ("utilisation", "memory", "power_mw", "energy_mj", "temperature", "clock_mhz")
Step = namedtuple("Step", "mono_us wall_us epoch iteration step loss")
Sample = namedtuple("Sample", "mono_us wall_us step cpu_us resident gpu")  # gpu: a dict of what is told, or None


class Session:
    def __init__(self, fields, wall_us):
        self.__dict__.update(fields)
        self.wall_us, self.steps_done, self.samples, self.seals = wall_us, [], [], []


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def text(self):
        size = self.take("I")
        self.at += size
        return self.data[self.at - size:self.at].decode()


def session_of(reader):
    fields = dict(zip(("job", "trajectory"), (reader.take("32s").hex(), reader.take("32s").hex())))
    fields["signer"] = reader.text()
    fields.update(zip(("first_step", "steps", "epoch_samples", "step_samples", "step_flops", "state_bytes", "interval_ms"), reader.take("qqqqdqI")))
    for name in ("device", "processor", "kernels", "gpu"):
        fields[name] = reader.text()
    fields.update(zip(("threads", "cores", "flops_per_s", "flops_per_cpu_s"), reader.take("IIdd")))
    return fields


def read(path):
    """The sessions of a run's telemetry. Half a record at the end is what an interruption leaves, and is passed over."""
    data = pathlib.Path(path).read_bytes()
    if not data.startswith(HEAD):
        raise ValueError(f"{path}: does not begin with {HEAD!r}")
    at, before, sessions = len(HEAD), None, []
    while len(data) - at >= 4:
        size = struct.unpack_from("<I", data, at)[0]
        payload, digest = data[at + 4:at + 4 + size], data[at + 4 + size:at + 36 + size]
        if len(digest) < 32:
            break
        reader = Reader(payload)
        kind, index, mono_us, wall_us = reader.take("BQqq")
        if kind == 1:
            fields = session_of(reader)
            if before is None:
                before = hashlib.sha256(HEAD + bytes.fromhex(fields["trajectory"]) + fields["signer"].encode() + b"\n").digest()
            sessions.append(Session(fields, wall_us))
        if before is None or hashlib.sha256(before + payload).digest() != digest:
            raise ValueError(f"{path}: record {index} does not fit the hashes of the chain")
        if kind == 2:
            epoch, iteration, step, loss = reader.take("qqqf")
            sessions[-1].steps_done.append(Step(mono_us, wall_us, epoch, iteration, step, loss))
        elif kind == 3:
            step, cpu_us, resident, has_gpu = reader.take("qqqB")
            gpu = {name: value for name, value in zip(GPU, reader.take("6q")) if value >= 0} if has_gpu else None
            sessions[-1].samples.append(Sample(mono_us, wall_us, step, cpu_us, resident, gpu))
        elif kind == 4:
            sessions[-1].seals.append(reader.take("q"))
        before, at = digest, at + 36 + size
    return sessions


def utilisation(session):
    """[(microseconds of the session, percent)]: of the GPU where the session computes on one, otherwise of the threads that it computes with."""
    if session.device == "cuda":
        return [(sample.mono_us, sample.gpu["utilisation"]) for sample in session.samples if sample.gpu and "utilisation" in sample.gpu]
    pairs = zip(session.samples, session.samples[1:])
    return [(now.mono_us, 100 * (now.cpu_us - then.cpu_us) / (now.mono_us - then.mono_us) / max(1, session.threads)) for then, now in pairs
            if now.mono_us > then.mono_us]


def memory(session):
    """[(microseconds of the session, bytes)] in use, of the GPU or of the process."""
    if session.device == "cuda":
        return [(sample.mono_us, sample.gpu["memory"]) for sample in session.samples if sample.gpu and "memory" in sample.gpu]
    return [(sample.mono_us, sample.resident) for sample in session.samples]


if __name__ == "__main__":
    for one in read(pathlib.Path(sys.argv[1]) / "telemetry.bin"):
        print(f"session from step {one.first_step} of {one.steps} on {one.gpu or one.processor}: {len(one.steps_done)} steps, {len(one.samples)} samples, "
              f"{len(one.seals)} seals, signed by {one.signer.rsplit('+', 1)[0]}, key {base64.b64decode(one.signer.split('+', 2)[2])[1:].hex()[:16]}")
