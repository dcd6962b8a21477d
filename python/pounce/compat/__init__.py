"""Other libraries' names over pounce: change the line that imports them, and nothing else.

    from pounce.compat.dask import SLURMCluster, Client     # for dask_jobqueue and dask.distributed
    from pounce.compat import submitit                      # for submitit
    import pounce.compat.joblib                             # then joblib.parallel_config("pounce")

docs/migrate.md says what each name becomes. A name that is not offered raises an error with an alternative. Nothing
here imports Dask, submitit or joblib before the program itself does.
"""
