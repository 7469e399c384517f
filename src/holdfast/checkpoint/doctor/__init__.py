"""Explains what is wrong with a checkpoint store and what would happen at the next start, and repairs what it can."""

from holdfast.checkpoint.doctor.diagnosis import Diagnosis, Finding, FindingKind, KeySummary
from holdfast.checkpoint.doctor.examination import examine
from holdfast.checkpoint.doctor.repairs import AcceptLoss, FallBack, Forget, Remove, Repair
from holdfast.checkpoint.doctor.treatment import Action, DryRun, Outcome, repair

__all__ = [
    "AcceptLoss",
    "Action",
    "Diagnosis",
    "DryRun",
    "FallBack",
    "Finding",
    "FindingKind",
    "Forget",
    "KeySummary",
    "Outcome",
    "Remove",
    "Repair",
    "examine",
    "repair",
]
