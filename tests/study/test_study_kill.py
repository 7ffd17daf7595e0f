"""A study that is killed at any moment can be resumed to the same results."""

import random
import time

import pytest

from separatrix.study import Store
from support.studies import assert_same, facts_of, iris, make, run_in_process, study_of

pytestmark = pytest.mark.slow

KILLS = 10


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The store of an uninterrupted study, and its training time."""
    path = tmp_path_factory.mktemp("undisturbed") / "a.db"
    began = time.monotonic()
    study_of(path).run(*iris())
    return path, time.monotonic() - began


def test_a_study_that_is_killed_repeatedly_ends_with_the_same_bits(undisturbed, tmp_path):
    path, seconds = undisturbed
    rng = random.Random(0)
    kills, studies = 0, 0
    while kills < KILLS:
        studies += 1
        store = tmp_path / f"{studies}.db"
        while True:
            child = run_in_process(make, store)
            child.join(rng.uniform(0.0, seconds / 2) if kills < KILLS else None)
            if child.exitcode is not None:
                assert child.exitcode == 0
                break
            child.kill()
            child.join()
            kills += 1
        facts = facts_of(store)
        assert facts.finished
        assert_same(facts_of(path), facts)
        assert study_of(store).run(*iris(), resume=True).facts().seconds == facts.seconds


def test_checkpoints_are_stored_and_used(tmp_path, undisturbed):
    """A study stopped in the middle of a batch continues there, not from its start."""
    store = tmp_path / "a.db"

    class EnoughError(Exception):
        pass

    seen = []

    def end(progress):
        seen.append(progress.share)
        if progress.share > 0.3:
            raise EnoughError

    with pytest.raises(EnoughError):
        study_of(store).run(*iris(), on_progress=end)
    with Store(store) as opened:
        assert opened.rows("SELECT epoch FROM checkpoints")[0]["epoch"] > 1
    later = []
    study_of(store).run(*iris(), resume=True, on_progress=lambda s: later.append(s.share))
    assert later[0] > seen[-1]
    assert_same(facts_of(undisturbed[0]), facts_of(store))
    with Store(store) as opened:
        assert not opened.rows("SELECT 1 FROM checkpoints")
        assert not opened.rows("SELECT 1 FROM writers")
