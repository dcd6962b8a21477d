"""What you hold on the cluster, as a picture: in the notebook (``pounce.panel()``) and on a page (``pouncectl panel``)."""
