#!/usr/bin/env python3
"""A TCP proxy that misbehaves: delays, cuts, stalls, refuses, limits the rate; and spreads connections over several targets.

    proxy.py LISTEN_HOST HOST:PORT [HOST:PORT ...]

Prints {"port": N}. Then takes one JSON object a line on standard input, each with any of these keys, and answers "ok":
    targets   list of HOST:PORT
    delay_ms  how long every piece of data is held back, up to
    cut       probability that a piece of data ends its connection instead of being passed on
    stall_s   seconds for which a piece of data is held back with probability `stall`, and
    stall     that probability
    rate      bytes a second of one connection and direction; 0: no limit
    down      true: existing connections are cut and new ones refused
Ends with its standard input. Chances come from --seed.
"""

import argparse
import asyncio
import json
import random
import sys

PIECE = 16384


class Proxy:
    def __init__(self, targets, seed):
        self.how = {"targets": targets, "delay_ms": 0, "cut": 0.0, "stall": 0.0, "stall_s": 0.0, "rate": 0, "down": False}
        self.random = random.Random(seed)
        self.turn = 0
        self.open = set()

    async def connect(self):
        """The next target that answers."""
        targets = self.how["targets"]
        for _ in targets:
            self.turn += 1
            host, port = targets[self.turn % len(targets)].rsplit(":", 1)
            try:
                return await asyncio.wait_for(asyncio.open_connection(host, int(port)), 5)
            except (OSError, asyncio.TimeoutError):
                continue
        return None

    async def pump(self, reader, writer):
        while piece := await reader.read(PIECE):
            if self.random.random() < self.how["cut"]:
                raise ConnectionResetError
            if self.how["delay_ms"]:
                await asyncio.sleep(self.random.uniform(0, self.how["delay_ms"]) / 1000)
            if self.how["stall"] and self.random.random() < self.how["stall"]:
                await asyncio.sleep(self.how["stall_s"])
            if self.how["rate"]:
                await asyncio.sleep(len(piece) / self.how["rate"])
            writer.write(piece)
            await writer.drain()
        writer.write_eof()

    async def serve(self, reader, writer):
        other = None
        self.open.add(writer)
        try:
            if self.how["down"]:
                return
            found = await self.connect()
            if found is None:
                return
            other = found[1]
            self.open.add(other)
            # An end of one direction is passed on; a cut ends both.
            await asyncio.gather(self.pump(reader, other), self.pump(found[0], writer))
        except OSError:
            pass
        finally:
            for each in (writer, other):
                if each is not None:
                    self.open.discard(each)
                    each.transport.abort()

    def change(self, wish):
        unknown = set(wish) - set(self.how)
        if unknown:
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
        self.how.update(wish)
        if self.how["down"]:
            for writer in list(self.open):
                writer.transport.abort()


async def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("listen")
    arguments.add_argument("targets", nargs="+")
    given = arguments.parse_args()
    proxy = Proxy(given.targets, given.seed)
    server = await asyncio.start_server(proxy.serve, given.listen, given.port)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        proxy.change(json.loads(line))
        print("ok", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
