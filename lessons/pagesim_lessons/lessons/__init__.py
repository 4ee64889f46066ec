"""The twelve lessons, one module each; each has a ``LESSON``. ``pagesim_lessons.course`` lists them in order."""
