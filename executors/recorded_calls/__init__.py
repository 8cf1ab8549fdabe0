"""The folder that goes on the module path of a benchmark's pytest: it holds a plugin and nothing else."""
