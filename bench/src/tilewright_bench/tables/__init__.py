"""Tables: reports, means, predictions and required results as text."""
