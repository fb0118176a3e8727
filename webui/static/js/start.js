// The estimate for the run in the form. The server computes it; this requests and shows it.

const form = document.getElementById("start");
if (form) {
  const by = (id) => document.getElementById(id);
  let requests = 0;
  let timer = 0;

  const duration = (seconds) => {
    const whole = Math.round(seconds);
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
    return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  };
  const size = (count) => {
    for (const [unit, factor] of [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
      if (count >= factor) return `${(count / factor).toFixed(2)} ${unit}`;
    }
    return `${count} B`;
  };
  const cell = (name) => form.querySelector(`[data-cost="${name}"]`);
  const item = (text, dim) => {
    const entry = document.createElement("li");
    entry.append(text);
    if (dim) {
      const small = document.createElement("span");
      small.className = "dim";
      small.textContent = ` ${dim}`;
      entry.append(small);
    }
    return entry;
  };

  const query = () => {
    const fields = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (!["csrf", "erase", "drive_key", "diskseq", "medium", "q"].includes(name) && value !== "") fields.append(name, value);
    }
    return fields;
  };

  const mark = (name) => {
    for (const field of form.querySelectorAll(".field.wrong")) field.classList.remove("wrong");
    const input = name && (form.elements.namedItem(`p.${name}`) ?? form.elements.namedItem(name));
    input?.closest?.(".field")?.classList.add("wrong");
  };

  const showPlan = ({ plan, needs }) => {
    cell("seconds").textContent = plan.may_end_early ? `at most ${duration(plan.seconds)}` : duration(plan.seconds);
    cell("written").textContent = size(plan.bytes_written);
    cell("read").textContent = size(plan.bytes_read);
    cell("steps").textContent = String(plan.steps.length);
    const tag = document.createElement("span");
    tag.className = `tag ${plan.destroys ? "bad" : "ok"}`;
    tag.textContent = plan.destroys ? "destroyed" : "kept";
    cell("destroys").replaceChildren(tag);
    by("cost-notes").replaceChildren(...plan.notes.map((note) => item(note)));
    by("step-names").replaceChildren(...plan.steps.map((step) => item(step.name, step.seconds ? duration(step.seconds) : "")));
    // The form of a queue asks for the code itself.
    if (!by("go")) return;
    by("erase-part").hidden = !needs.erase;
    by("lock-part").hidden = !needs.unlock;
    by("go").className = plan.destroys ? "erase" : "primary";
    by("go").textContent = needs.unlock ? "Continue to unlock…" : plan.destroys ? "Erase and start" : "Start";
  };

  const show = (answer, good) => {
    by("cost-problem").hidden = good;
    by("cost-list").hidden = !good;
    by("cost-steps").hidden = !good;
    by("cost-notes").hidden = !good;
    mark(good ? null : answer.error?.field);
    if (good) showPlan(answer);
    else by("cost-problem").textContent = answer.error?.message ?? "No estimate available.";
  };

  const estimate = async () => {
    const mine = ++requests;
    try {
      const answer = await fetch(`${by("cost").dataset.url}?${query()}`);
      const result = await answer.json();
      if (mine === requests) show(result, answer.ok);
    } catch {
      if (mine === requests) show({ error: { message: "The bench does not answer." } }, false);
    }
  };

  form.addEventListener("input", (event) => {
    if (event.target.id === "erase") return;
    clearTimeout(timer);
    timer = setTimeout(estimate, event.target.tagName === "SELECT" ? 0 : 250);
  });
}
