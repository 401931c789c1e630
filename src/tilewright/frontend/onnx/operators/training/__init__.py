"""Training: losses, derivatives and steps of optimizers."""
