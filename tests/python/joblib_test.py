"""Processes that libraries start on a worker."""

from __future__ import annotations

import pytest

pytest.importorskip("sklearn")


def test_what_joblibs_processes_print_is_shown(home):
    run = home.run("""
        def search():
            import numpy
            from sklearn.linear_model import Ridge
            from sklearn.model_selection import GridSearchCV
            data = numpy.arange(40.0).reshape(20, 2)
            return GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, cv=2, n_jobs=2, verbose=3).fit(data, data[:, 0]).n_splits_
        with pounce.Client() as client:
            report(splits=client.submit(search).result(80))
    """)

    assert run.reports == {"splits": 2}
    assert run.stdout.count("] END") == 4
