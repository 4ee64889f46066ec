"""Work for other processes, which they find by its name; see test_sweep.py."""

import os
import signal

from pagesim.sim.workers import Tell


def squared(number: int, tell: Tell) -> int:
    for done in range(3):
        tell(done, 3)
    return number * number


def seventh_fails(number: int, tell: Tell) -> int:
    if number == 7:
        raise ValueError("seven is right out")
    return number


def seventh_is_killed(number: int, tell: Tell) -> int:
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return number
