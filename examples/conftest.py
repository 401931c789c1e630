"""Scripts are run by tests/docs/test_examples.py; pytest must not import them."""

collect_ignore_glob = ["*.py"]
