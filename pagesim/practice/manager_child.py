"""The process that examines a block manager: ``python -m pagesim.practice.manager_child``, started by
``manager_sandbox``. Says what it examines, and in the end the report."""

import sys

from pagesim.practice.child import CPU_SPARE_S, Say, serve
from pagesim.practice.limits import set_limits
from pagesim.practice.manager_grade import Job, grade
from pagesim.practice.manager_report import report_to_plain


def _do(job: dict[str, object], say: Say) -> None:
    sys.dont_write_bytecode = True
    set_limits(int(str(job["memory_mib"])), int(float(str(job["seconds"]))) + CPU_SPARE_S)
    what = Job(
        str(job["file"]), str(job["class_name"]), int(str(job["seed"])), int(str(job["examples"]))
    )
    say({"ready": True})
    report = grade(what, lambda part: say({"part": part}))
    if sys.stdout is not None:
        sys.stdout.flush()
    say({"report": report_to_plain(report)})


if __name__ == "__main__":
    serve(_do)
