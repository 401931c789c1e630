"""Row-wise reductions as tile programs: passes over rows, sums, folds, and expressions of states."""
