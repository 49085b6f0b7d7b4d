"""Recorded statements to systems of recurrence equations."""
