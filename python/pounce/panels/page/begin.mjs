import { begin } from "/panel.mjs";

begin(document.getElementById("panel"));
