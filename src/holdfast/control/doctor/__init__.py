"""Explains what is wrong in the directory of a pipeline that does not run, and repairs what loses nothing."""

from holdfast.control.doctor.examination import examine
from holdfast.control.doctor.findings import Code, Diagnosis, Finding, Severity
from holdfast.control.doctor.treatment import Done, repair

__all__ = ["Code", "Diagnosis", "Done", "Finding", "Severity", "examine", "repair"]
