"""One campaign in parts: on several machines, and put together again."""
