"""Load an address; end after so many seconds, or when told to (SIGTERM), and print what was lost as JSON."""

import argparse
import asyncio
import signal

import orjson
import uvloop

from bench.steady.load import Load, Result


def told(result: Result) -> bytes:
    said = {
        "sent": result.sent,
        "answered": len(result.latencies),
        "lost": dict(result.lost),
        "p50_ms": round(result.percentile(0.5) * 1000, 2),
        "p99_ms": round(result.percentile(0.99) * 1000, 2),
        "longest_ms": round(result.percentile(1.0) * 1000, 2),
    }
    return orjson.dumps(said)


async def load(given: argparse.Namespace) -> Result:
    host, _, port = given.address.rpartition(":")
    made = Load(host.strip("[]"), int(port), given.rate, given.path, given.patience)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, made.stop)
    if given.seconds:
        loop.call_later(given.seconds, made.stop)
    return await made.run()


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.steady", description=__doc__)
    parser.add_argument("address", metavar="HOST:PORT")
    parser.add_argument("--path", default="/")
    parser.add_argument("--rate", type=float, default=500.0, help="requests a second (default: %(default)s)")
    parser.add_argument("--patience", type=float, default=5.0, help="seconds for a request (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.0, help="how long (default: until SIGTERM)")
    given = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(told(runner.run(load(given))).decode())


if __name__ == "__main__":
    main()
