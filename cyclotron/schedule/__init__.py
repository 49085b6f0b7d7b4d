"""Schedules: space, time and movement of tensors; recipes that build well-known ones."""
