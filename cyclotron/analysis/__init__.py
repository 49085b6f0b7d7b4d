"""Where cycles, messages and seconds went: counters, events, critical paths, traces."""
