#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""This library beside the rotations of other packages: same process, same interleaved rounds, same threads.

    bench/peers.py run [--quick] [--threads N] [--environment main|ipex] [--only NAME,...] --out RUN.json
    bench/peers.py page RUN.json ... --page docs/bench-peers.md --chart docs/bench-peers.svg
    bench/peers.py table RUN.json ...

`scripts/bench_peers.sh` makes the environments and does all of it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def pin(threads: int) -> None:
    """So many processors for the whole process, and so many threads for whoever asks. Before any peer is imported."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < threads:
        sys.exit(f"--threads {threads}: this process may use {len(allowed)} processors")
    os.sched_setaffinity(0, allowed[-threads:])
    for name in THREAD_VARIABLES:
        os.environ[name] = str(threads)


def run(arguments: argparse.Namespace) -> None:
    pin(arguments.threads)
    from peers import contest, machine
    from peers.case import cases

    names = contest.PEERS[arguments.environment]
    if arguments.only:
        names = tuple(arguments.only.split(","))
    peers, absent = contest.load(names)
    others = machine.Others()
    rows = []
    for case in cases(arguments.threads, arguments.quick):
        count = arguments.rounds or (5 if arguments.quick else 7 if case.tokens > 256 else 15)
        rows.append(contest.contest(case, peers, count))
        contest.progress(case, rows[-1])
    report = {
        "schema": "rotary.peers/1",
        "environment": arguments.environment,
        "quick": arguments.quick,
        "threads": arguments.threads,
        "machine": machine.describe(others.part()),
        "versions": {peer.NAME: f"{peer.PACKAGE} {contest.version(peer.PACKAGE)}" for peer in peers},
        "absent": absent,
        "rows": [row for case_rows in rows for row in case_rows],
    }
    Path(arguments.out).write_text(json.dumps(report, indent=1) + "\n")


def report(arguments: argparse.Namespace) -> None:
    from peers import page
    from chart import chart

    runs = [json.loads(Path(name).read_text()) for name in arguments.runs]
    if arguments.command == "table":
        print(page.tables(runs))
        return
    place, picture = Path(arguments.page), Path(arguments.chart)
    picture.write_text(chart(page.panels(runs)))
    place.write_text(page.page(runs, picture.name))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="times one environment with one number of threads")
    one.add_argument("--quick", action="store_true", help="1 and 256 tokens, 5 rounds")
    one.add_argument("--rounds", type=int, default=0)
    one.add_argument("--threads", type=int, default=1)
    one.add_argument("--environment", choices=("main", "ipex"), default="main")
    one.add_argument("--only", help="names of files in bench/peers, with commas")
    one.add_argument("--out", required=True)
    one.set_defaults(go=run)
    for name, what in (("page", "writes the page and its chart"), ("table", "prints the tables")):
        other = commands.add_parser(name, help=what)
        other.add_argument("runs", nargs="+", metavar="RUN.json")
        other.set_defaults(go=report)
        if name == "page":
            other.add_argument("--page", required=True)
            other.add_argument("--chart", required=True)
    arguments = parser.parse_args()
    arguments.go(arguments)


if __name__ == "__main__":
    main()
