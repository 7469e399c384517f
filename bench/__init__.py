"""Benchmarks: each module's `run` measures something and yields its figures."""
