"""How Spark's JVM is started without waste.

It loads and verifies the same 20,000 classes every time. An archive of them, made once by
`python -m holdfast.runtime.jvm`, halves the processor time of its start. A JVM that does not fit the archive goes on
without it. The figures are in docs/benchmarks.md.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_SETTINGS = ("-Xss8m", "-XX:+UseParallelGC")
"""A deep plan overflows the default stack of the stream's thread."""


def java_options() -> str:
    """What the driver's JVM is started with."""
    archive = class_archive()
    shared = (
        [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off,cds+dynamic=off"] if archive and archive.exists() else []
    )
    return " ".join([*_SETTINGS, *shared])


def class_archive() -> Path | None:
    """Where the archive of loaded classes for this Java and this Spark is, or would be; None without a Java."""
    java = _java()
    if java is None:
        return None
    import pyspark

    spark = Path(pyspark.__file__).parent
    modules = java.parents[1] / "lib" / "modules"
    stamps = [path.stat().st_mtime_ns for path in (modules, spark / "jars") if path.exists()]
    made_for = f"{java} {spark} {pyspark.__version__} {stamps}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "holdfast" / f"spark-{hashlib.sha256(made_for.encode()).hexdigest()[:16]}.jsa"


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    return Path(found).resolve() if found and Path(found).exists() else None


_TRIAL = """
from pathlib import Path
import sys
from pyspark import SparkContext
from holdfast import Files, Generator, Pipeline, SparkSettings, Until, sql
scratch, options = Path(sys.argv[1]), sys.argv[2]
for name, mode, query in (
    ("rows", "append", "SELECT seq, key, op, event_time, after FROM events WHERE op <> 'd'"),
    ("groups", "update", "SELECT after.customer % 10 AS k, count(*) AS n, max(seq) AS seq FROM events GROUP BY 1"),
):
    pipeline = Pipeline(name, directory=scratch / name).read(Generator(events=2000)).process(sql(query))
    pipeline = pipeline.output_mode(mode).write(Files(scratch / f"{name}-out"))
    pipeline.spark(SparkSettings(conf={"spark.driver.extraJavaOptions": options})).run(until=Until.CAUGHT_UP)
jvm = SparkContext._gateway.proc
jvm.stdin.close()
jvm.wait()
"""


def make_class_archive() -> Path | None:
    """Run two small pipelines in a JVM of their own, and keep what classes it had loaded. About a minute."""
    archive = class_archive()
    if archive is None or archive.exists():
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        made = Path(scratch) / "archive"
        options = " ".join([*_SETTINGS, f"-XX:ArchiveClassesAtExit={made}", "-Xlog:cds=off,cds+dynamic=off"])
        subprocess.run([sys.executable, "-c", _TRIAL, scratch, options], check=True, stderr=subprocess.DEVNULL)
        made.replace(archive)
    return archive


if __name__ == "__main__":
    if (place := class_archive()) is not None and not place.exists():
        print("setup: an archive of Spark's classes, so that it starts in half the time (a minute, once)", flush=True)
        try:
            make_class_archive()
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"setup: the archive could not be made, Spark starts without it ({error})")
