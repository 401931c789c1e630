"""Random convolutions of every kind, with what stands before and behind them in networks."""
