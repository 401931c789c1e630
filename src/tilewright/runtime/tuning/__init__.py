"""What tuning chose, on disk: measurements and winning plans, and their use when a model is planned."""
