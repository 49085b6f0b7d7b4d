"""Errors, checks of arguments, call sites, progress, tables, the environment: used by every layer."""
