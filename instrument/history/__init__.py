"""The same checks under other releases, each in an environment of its own."""
