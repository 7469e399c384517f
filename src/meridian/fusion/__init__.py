"""From observations to conjunction alerts: windows in event time, tracks, close pairs, what is told of them. Pure."""
