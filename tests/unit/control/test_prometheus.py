"""The text for Prometheus, whatever it tells of."""

from __future__ import annotations

from holdfast.control.prometheus import Family, Sample, rendered


def test_a_histogram_has_one_head_and_its_samples_have_suffixes() -> None:
    samples = [Sample({"le": "1"}, 2, "_bucket"), Sample({"le": "+Inf"}, 3, "_bucket"), Sample({}, 4.5, "_sum")]
    assert rendered([Family("lag", "histogram", "How long.", samples)]).splitlines() == [
        "# HELP lag How long.",
        "# TYPE lag histogram",
        'lag_bucket{le="1"} 2',
        'lag_bucket{le="+Inf"} 3',
        "lag_sum 4.5",
    ]
