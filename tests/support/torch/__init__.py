"""What tests of the PyTorch front end and of its backend share."""
