"""Quizzes: generated problems with typed answers. A topic and a seed are the same problem for ever."""
