"""What `tests/run` is made of: commands with logs, reports of cases, the suites, their order, the closing table."""
