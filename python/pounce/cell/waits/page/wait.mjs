// Under a cell that waits: what it could do instead, as buttons; and the browser's notification for who wants one.
// A kernel that computes may hear of a click only when its cell has ended. So there are buttons as long as it answers,
// and words where it does not. All text is set as text.

const FIRST_LOOK_MS = 500;
const MOST_LOOKS = 9; // each waits twice as long as the last
const ANSWER_MS = 8000;

export default {
  // Of the model, which lives on when its output is cleared.
  initialize({ model }) {
    const hear = ({ notify }) => notify && tell(notify);
    model.on("msg:custom", hear);
    return () => model.off("msg:custom", hear);
  },
  render({ model, el }) {
    const page = new Page(el, (request) => model.send(request), model.get("facts"));
    const hear = (message) => page.hear(message);
    model.on("msg:custom", hear);
    page.look();
    return () => {
      page.close();
      model.off("msg:custom", hear);
    };
  },
};

function tell({ title, text }) {
  if (permission() !== "granted") return;
  try {
    new Notification(title, { body: text }).onclick = () => window.focus();
  } catch {
    // a browser of a telephone lets only its service workers notify
  }
}

// "granted", "denied", "default": it was not said yet; "none": this page cannot notify.
const permission = () => (window.isSecureContext && "Notification" in window ? Notification.permission : "none");

class Page {
  constructor(el, send, facts) {
    this.el = el;
    this.send = send;
    this.facts = facts;
    this.heard = false; // the kernel answers while it is busy
    this.folded = false;
    this.looks = 0;
    el.classList.add("pounce-wait");
    this.draw();
  }

  // Asks until the kernel has answered.
  look() {
    clearTimeout(this.timer);
    if (this.heard || this.looks === MOST_LOOKS) return;
    this.send({ do: "look" });
    this.timer = setTimeout(() => this.look(), FIRST_LOOK_MS * 2 ** this.looks++);
  }

  close() {
    clearTimeout(this.timer);
  }

  hear(facts) {
    if (facts.notify) return;
    if (facts.heard) {
      clearTimeout(this.timer);
      this.heard = true;
    }
    this.facts = facts;
    this.draw();
  }

  ask(request) {
    for (const button of this.el.querySelectorAll("button")) button.disabled = true;
    this.send(request);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.heard = false; // then words again, and a look whether it answers after all
      this.looks = 0;
      this.draw();
      this.look();
    }, ANSWER_MS);
  }

  draw() {
    const { when, choices, note, words, tells } = this.facts;
    this.el.replaceChildren();
    if (choices?.length && !this.heard) child(this.el, "pre", words);
    if (choices?.length && this.heard) this.drawChoices(when, choices);
    if (tells) this.drawTelling();
    if (note) child(this.el, "p", note);
  }

  drawChoices(when, choices) {
    child(this.el, "p", `This cell waits; ${when}.`);
    const row = child(this.el, "div", "");
    if (this.folded) return void this.button(row, "what else?", "shows the choices", () => this.fold(false));
    this.button(row, "wait", "leaves it as it is", () => this.fold(true));
    for (const { do: what, option, label, line } of choices)
      this.button(row, label, `as ${line}`, async () => {
        if (what === "behind") await allowed();
        this.ask({ do: what, option });
      });
    if (!this.facts.tells && (this.facts.program || ["default", "granted"].includes(permission())))
      this.button(row, "tell me", "when it starts, and when it has ended", async () => {
        if ((await allowed()) || this.facts.program) this.ask({ do: "tell" });
        else this.draw();
      });
  }

  fold(folded) {
    this.folded = folded;
    this.draw();
  }

  drawTelling() {
    const state = permission();
    const who = [state === "granted" ? "the browser" : "", this.facts.program ? "the site's program" : ""].filter(Boolean);
    const told = who.length ? `You are told by ${who.join(" and by ")} when this cell starts and when it has ended. ` : "";
    const cannot = {
      none: "A page that is not https cannot notify.",
      denied: "The browser's settings for this site do not let the page notify.",
    }[state];
    const line = child(this.el, "p", told + (cannot ?? ""));
    if (state === "default")
      this.button(line, "let this page notify", "the browser then asks whether it may", async () => {
        await allowed();
        this.draw();
      });
  }

  button(parent, label, title, click) {
    const made = child(parent, "button", label);
    made.title = title;
    made.addEventListener("click", click);
  }
}

// Asked by a click alone.
async function allowed() {
  if (permission() === "default") await Notification.requestPermission();
  return permission() === "granted";
}

function child(parent, tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  parent.append(made);
  return made;
}
