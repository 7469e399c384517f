"""The type of a JSON value, as `json.dumps` takes it and `json.loads` gives it. Nothing else."""

from __future__ import annotations

from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
