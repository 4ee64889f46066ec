"""The engine over HTTP, as OpenAI's API: completions, chat, and metrics in Prometheus form.

Nothing is imported here; ``server.serve_http`` is the way in.
"""
