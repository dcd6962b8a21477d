"""Records of what pounce ran under a run of MLflow, so that it can be run again."""
