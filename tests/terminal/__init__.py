"""What a person sees and presses: real processes in real pseudo-terminals."""
