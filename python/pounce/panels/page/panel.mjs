// The panel: a row for each lease with what it uses at the moment, and for each background cell. One page for the
// notebook, where anywidget calls render(), and for the browser, where begin() is called. All text is set as text.

const KEPT = 120; // points of a plot
const LOOK_MS = 1000;

export default {
  render({ model, el }) {
    const panel = new Panel(el, (request) => model.send(request));
    const hear = (message) => panel.show(message);
    model.on("msg:custom", hear);
    panel.open();
    return () => {
      panel.close();
      model.off("msg:custom", hear);
      model.send({ do: "closed" });
    };
  },
};

// On a page of its own: requests go to the server that sent it.
export function begin(el) {
  const opened = openedWith();
  const panel = new Panel(el, async (request) => {
    const { key, refused } = await opened;
    if (refused) {
      panel.close();
      return panel.show({ trouble: refused });
    }
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    try {
      const answer = await fetch("/panel", { method: "POST", headers, body: JSON.stringify(request) });
      if (answer.status === 401) panel.close();
      panel.show(answer.ok ? await answer.json() : { trouble: (await answer.json()).message });
    } catch {
      panel.show({ trouble: "pouncectl panel has ended" });
    }
  });
  panel.open();
}

// The address has a token behind its #, which no server and no log gets. It is good for one page, which then has a key.
async function openedWith() {
  const token = location.hash.slice(1);
  history.replaceState(null, "", "/");
  if (token) {
    const answer = await fetch("/key", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
    if (answer.ok) sessionStorage.setItem("key", (await answer.json()).key);
    else if (!sessionStorage.getItem("key")) return { refused: (await answer.json()).message };
  }
  return { key: sessionStorage.getItem("key") ?? "" };
}

class Panel {
  constructor(el, send) {
    this.el = el;
    this.send = send;
    this.rows = new Map(); // by what they are about
    el.classList.add("pounce-panel");
    this.note = child(el, "p", "pounce-note");
    this.list = child(el, "div", "");
  }

  // Looks once a second while it is seen; a page in the background, or scrolled away, asks for nothing.
  open() {
    this.seen = true;
    this.watch = new IntersectionObserver((entries) => (this.seen = entries.at(-1).isIntersecting));
    this.watch.observe(this.el);
    const look = () => {
      if (!this.seen || document.hidden || this.waits) return; // a kernel that computes answers when it is done
      this.waits = true;
      this.send({ do: "look" });
    };
    look();
    this.timer = setInterval(look, LOOK_MS);
  }

  close() {
    clearInterval(this.timer);
    this.watch.disconnect();
  }

  show(facts) {
    if (!facts.pushed) this.waits = false;
    this.note.textContent = facts.trouble ?? "";
    if (facts.leases === undefined) return;
    const before = this.rows;
    this.rows = new Map();
    for (const lease of facts.leases) {
      const row = this.row(before, `lease ${lease.id}`);
      row.tell(lease.state, lease.title + (lease.here ? " · this notebook" : ""), lease.says, factsOf(lease));
      if (lease.memory_mib !== null) row.plot(lease.gpu ?? Math.min(100, lease.cpu * 100), lease.gpu === null ? "CPU" : "GPU");
      const release = { label: "release", title: "give it back as soon as it is idle", request: { do: "release", lease: lease.id } };
      row.buttons(lease.state === "waits" ? [] : [release]); // what waits is stopped where it was asked for
    }
    for (const cell of facts.cells) {
      const row = this.row(before, `cell ${cell.name}`);
      row.tell(cell.state, `cell ${cell.name}`, cell.says, []);
      const take = cell.choices.map(({ option, words }) => ({
        label: words, title: "instead of waiting", request: { do: "take", cell: cell.name, option },
      }));
      row.buttons([...take, { label: "stop", title: "as the stop button does", request: { do: "stop", cell: cell.name } }]);
    }
    for (const [about, row] of before) if (!this.rows.has(about)) row.el.remove();
    if (!this.rows.size) this.note.textContent ||= "nothing is leased";
  }

  // One that stays is the same element: a click that has begun finds it.
  row(before, about) {
    const row = before.get(about) ?? new Row(this.list, this.send);
    this.rows.set(about, row);
    return row;
  }
}

class Row {
  constructor(list, send) {
    this.send = send;
    this.points = [];
    this.shown = "";
    this.el = child(list, "section", "");
    const words = child(this.el, "div", "pounce-words");
    this.title = child(words, "b", "");
    this.state = child(words, "span", "pounce-state");
    this.says = child(words, "p", "");
    this.facts = child(this.el, "p", "pounce-facts");
    this.actions = child(this.el, "div", "pounce-actions");
  }

  tell(state, title, says, facts) {
    this.el.className = `pounce-row pounce-${state}`;
    this.state.textContent = state;
    this.title.textContent = title;
    this.says.textContent = says;
    this.facts.textContent = facts.join(" · ");
  }

  // Percent over the last two minutes.
  plot(percent, name) {
    this.points = [...this.points, percent].slice(-KEPT);
    this.picture ??= this.el.insertBefore(svg("svg", { viewBox: `0 0 ${KEPT} 100`, preserveAspectRatio: "none", role: "img" }), this.facts);
    this.line ??= this.picture.appendChild(svg("polyline", {}));
    const first = KEPT - this.points.length;
    this.line.setAttribute("points", this.points.map((value, at) => `${first + at},${100 - value}`).join(" "));
    this.picture.setAttribute("aria-label", `${name}: ${Math.round(percent)} %`);
  }

  buttons(wanted) {
    const shown = JSON.stringify(wanted);
    if (shown === this.shown) return;
    this.shown = shown;
    this.actions.replaceChildren();
    for (const { label, title, request } of wanted) {
      const button = child(this.actions, "button", "", label);
      button.title = title;
      button.addEventListener("click", () => {
        button.disabled = true;
        this.send(request);
      });
    }
  }
}

function factsOf(lease) {
  const facts = [];
  if (lease.gpu !== null) facts.push(`GPU ${lease.gpu} %`);
  if (lease.gpu_memory_mib !== null)
    facts.push(`${gib(lease.gpu_memory_mib)} of ${gib(lease.gpu_memory_total_mib)} GiB of its memory`);
  if (lease.memory_mib !== null) facts.push(`${lease.cpu.toFixed(1)} CPUs`, memory(lease.memory_mib));
  if (lease.left_s !== null) facts.push(`${duration(lease.left_s)} left`);
  return facts;
}

const gib = (mib) => (mib / 1024).toFixed(1);
const memory = (mib) => (mib < 1024 ? `${mib} MiB` : `${gib(mib)} GiB`);

function duration(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

function svg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function child(parent, tag, name, text = "") {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  parent.append(made);
  return made;
}
