"""The course: lessons, quizzes, interview questions and exercises. Everything in it is computed by pagesim."""
