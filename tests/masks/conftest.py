"""Tests that need PyTorch are collected only where it is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["test_torch_export.py"]
