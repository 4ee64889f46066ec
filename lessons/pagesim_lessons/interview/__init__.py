"""Interview practice: questions on LLM serving memory, with what to answer and what not to.

The questions are TOML files in ``bank``, one a topic; ``cards`` says what their fields mean.
"""
