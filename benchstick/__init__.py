"""Benchstick: a storage test bench for DAS, USB, SATA and NVMe drives."""

__version__ = "0.1.0"
