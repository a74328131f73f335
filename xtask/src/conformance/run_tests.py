"""Runs tests of Python's unittest, for `cargo xtask conformance`.

`python run_tests.py --list PACKAGE` prints the name of every test. `python run_tests.py` reads names from standard
input, a line each, runs each test and answers with a line of JSON. It decides nothing about results.
"""

import gc
import importlib
import json
import os
import pkgutil
import sys
import traceback
import unittest


def names(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names(test)
        else:
            yield test.id()


class Result(unittest.TestResult):
    """Keeps the gravest of what happened to one test."""

    GRAVITY = ["pass", "xfail", "skip", "fail"]

    def __init__(self):
        super().__init__()
        self.answer = {"verdict": "pass", "reason": "", "detail": ""}

    def put(self, verdict, reason, detail=""):
        if self.GRAVITY.index(verdict) > self.GRAVITY.index(self.answer["verdict"]):
            self.answer = {"verdict": verdict, "reason": reason, "detail": detail}

    def failed(self, error):
        kind, value, _ = error
        lines = str(value).strip().splitlines() or [""]
        self.put("fail", f"{kind.__name__}: {lines[-1].strip()}"[:200], "".join(traceback.format_exception(*error)))

    def addError(self, test, error):
        self.failed(error)

    def addFailure(self, test, error):
        self.failed(error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.failed(error)

    def addSkip(self, test, reason):
        self.put("skip", " ".join(reason.split()))

    def addExpectedFailure(self, test, error):
        self.put("xfail", "the suite expects it to fail")

    def addUnexpectedSuccess(self, test):
        self.put("fail", "the suite expects it to fail, and it passed")


def serve():
    # Tests print, and start programs that read and print: the conversation has descriptors of its own.
    questions = os.fdopen(os.dup(0))
    answers = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    for line in questions:
        # What is left of earlier tests is not looked at by the collections during later ones: that is a tenth of the tests' time.
        gc.collect()
        gc.freeze()
        result = Result()
        unittest.defaultTestLoader.loadTestsFromName(line.strip()).run(result)
        if result.testsRun == 0 and result.answer["verdict"] == "pass":
            result.put("fail", "no test has this name")
        sys.stdout.flush()
        print(json.dumps(result.answer), file=answers, flush=True)


def modules(package):
    """The modules of a package that have tests, or the module itself."""
    found = importlib.import_module(package)
    if not hasattr(found, "__path__"):
        return [package]
    inside = pkgutil.walk_packages(found.__path__, package + ".")
    return [module.name for module in inside if module.name.rpartition(".")[2].startswith("test_")]


def enumerate_tests(package):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    loader = unittest.TestLoader()
    every = []
    for module in modules(package):
        try:
            every += names(loader.loadTestsFromModule(importlib.import_module(module)))
        # Skipping a whole module is no Exception in pytest.
        except BaseException as error:
            print(f"{module} is left out: {type(error).__name__}: {error}", file=sys.stderr)
    for name in sorted(every):
        print(name, file=answers, flush=True)


# Tests that start processes of Python import this file again.
if __name__ == "__main__":
    if sys.argv[1:2] == ["--list"]:
        enumerate_tests(sys.argv[2])
    else:
        serve()
