"""Models of MLflow's and functions at addresses of this machine, on workers that are leased while they are used."""

from .endpoint import Endpoint as Endpoint
from .endpoint import serve as serve
