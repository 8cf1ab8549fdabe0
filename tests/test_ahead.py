"""Work that is begun before it is asked for: done once, waited for, left alone, and ended with the run."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kdiag import isolate
from kdiag.errors import KdiagError
from kdiag.isolate import Died
from kdiag.loop.ahead import Ahead, AskedOnce


def sleep(_):
    time.sleep(600)
    return 0


def fails(error):
    raise error


@pytest.mark.parametrize(
    ("other", "seconds", "told"),
    [
        (lambda: ["other"], 60, "other"),
        (lambda: fails(KdiagError("no compiler")), 60, "own"),
        (lambda: time.sleep(1) or ["other"], 0.1, "own"),
    ],
    ids=["waits", "another failed", "no time to wait"],
)
def test_who_asks_second_waits_for_the_first_as_long_as_there_is_time(other, seconds, told):
    asked, begun, go = AskedOnce({}), threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(asked.answers, "a", lambda _: begun.set() or (go.wait(60) and other()))
        begun.wait()
        threading.Timer(0.05, go.set).start()
        with isolate.ending_within(seconds):
            assert asked.answers("ab", lambda keys: ["own"] * len(keys)) == {"a": told, "b": "own"}
        first.exception()
    assert asked.answers("b", pytest.fail) == {"b": "own"}


def test_without_workers_nothing_is_begun():
    with Ahead(0) as ahead:
        ahead.begin(pytest.fail, "begun")
        ahead.drop()


def test_what_has_not_begun_can_be_dropped_and_the_end_leaves_no_child():
    done, died = [], []
    with Ahead(1) as ahead:
        ahead.begin(lambda: died.extend(isolate.run(sleep, 0, timeout_s=600) for _ in range(9)))
        ahead.begin(done.append, "dropped")
        ahead.drop()
        while not isolate._live:
            time.sleep(0.01)
        ahead.begin(done.append, "never begun")
    assert (done, isolate._live) == ([], set())
    assert [type(each) for each in died] == [Died]


@pytest.mark.parametrize(
    ("failure", "ending", "raised"),
    [
        (KdiagError("no such kernel"), None, None),
        (ZeroDivisionError(), None, ZeroDivisionError),
        (ZeroDivisionError(), KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_failure_that_its_asker_is_told_is_no_news_and_a_bug_is(failure, ending, raised):
    seen = None
    try:
        with Ahead(1) as ahead:
            ahead.begin(fails, failure)
            while not ahead._begun[0].done():
                time.sleep(0.01)
            if ending is not None:
                raise ending
    except (ZeroDivisionError, KeyboardInterrupt) as error:
        seen = type(error)
    assert seen is raised
