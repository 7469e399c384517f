"""The pure state machine that decides what is committed. It does no I/O and knows no clock."""
