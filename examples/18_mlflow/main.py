"""Two steps, each a job of its own shape: the first needs no GPU, the second takes the first one's artefact."""

import sys

import mlflow

rows, rate = sys.argv[1:]


def step(entry_point, config, **parameters):
    return mlflow.projects.run(".", entry_point, parameters=parameters, backend="pounce", backend_config=config,
                               env_manager="local")


with mlflow.start_run():
    prepared = step("prepare", {"time": "10", "mem": "1G"}, rows=rows)
    trained = step("train", {"time": "10", "mem": "1G", "gres": "gpu:1"}, data=f"runs:/{prepared.run_id}/rows.json", rate=rate)
    mlflow.log_metric("loss", mlflow.get_run(trained.run_id).data.metrics["loss"])
