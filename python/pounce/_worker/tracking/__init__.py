"""What code on a worker logs for MLflow reaches its server, also when that is away, slow, or refuses the token."""
