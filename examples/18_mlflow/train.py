"""Fits a line, and logs its loss at each epoch."""

import json
import sys

import mlflow

rows, rate = json.load(open(sys.argv[1])), float(sys.argv[2])
slope = offset = 0.0
with mlflow.start_run():
    for epoch in range(30):
        loss = 0.0
        for x, y in rows:
            error = slope * x + offset - y
            slope, offset, loss = slope - rate * error * x, offset - rate * error, loss + error**2
        mlflow.log_metric("loss", loss / len(rows), step=epoch)
    print(f"y = {slope:.1f} x + {offset:.1f}")
