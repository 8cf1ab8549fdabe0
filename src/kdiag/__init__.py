"""kdiag: what limits a cuTile kernel, why, and what verifiably helps."""

__version__ = "0.1.0"
