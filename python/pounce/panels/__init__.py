"""What you hold on the cluster, live: in the notebook (``pounce.panel()``) and on a page (``pouncectl panel``)."""
