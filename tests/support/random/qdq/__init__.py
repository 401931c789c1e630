"""Random chains of quantised layers, with every number that their definition allows."""
