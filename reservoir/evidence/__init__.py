"""The sources' tables and claims with ours beside them, what each method costs, and the test that judges claims."""
