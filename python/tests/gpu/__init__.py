"""Tests on a GPU."""
