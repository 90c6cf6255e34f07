"""The command line, dry runs and their cost model, and SLURM."""
