"""Names that people know from elsewhere, over pounce: change the line that imports them, and nothing else.

    from pounce.compat.dask import SLURMCluster, Client     # for dask_jobqueue and dask.distributed
    from pounce.compat import submitit                      # for submitit
    import pounce.compat.joblib                             # then joblib.parallel_config("pounce")

docs/migrate.md says what each name becomes. What is not offered raises an error that names what is. Nothing here imports Dask,
submitit or joblib before the program itself has asked for it.
"""
