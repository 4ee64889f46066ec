"""Exercise: blocks in several tables, and counts that say when one is free."""
