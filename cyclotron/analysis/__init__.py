"""Accounts of cycles, messages and seconds: counters, events, critical paths, traces."""
