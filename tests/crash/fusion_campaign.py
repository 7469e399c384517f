"""Random kills of fusion and of its subscriber, in Spark; writes its part of `docs/crash-matrix.md`.

python -m tests.crash.fusion_campaign [--kills 100] [--seed 1]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.crash import page
from tests.crash.fusion_killing import FusionCampaign

ABOUT = """\
What sensors see of six pairs of objects in twenty minutes goes through fusion in Spark, in batches of 60 observations,
into its tables and over HTTP to `meridian subscribe` in a process of its own. Each time something was killed it is
started again, until everything is through. After every kill, and at the end, a program which shares no code with the
product reads the tables, the subscriber's book and what the subscriber printed.

"""


def main() -> None:
    """Kill as often as asked, and write what came of it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--kills", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    if not options.kills:
        return
    print(f"crash: {options.kills} random kills of fusion in Spark, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        told = FusionCampaign(Path(scratch), seed=options.seed).run(options.kills)
    page.write(page.matrices(), page.section(page.RANDOM), f"{ABOUT}Seed {options.seed}: {told}")
    print(f"crash: {told}")


if __name__ == "__main__":
    main()
