"""The parts of the source that follows log files; see `holdfast.capture.files`."""
