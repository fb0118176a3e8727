// The estimate for the run in the form. The server computes it; this requests and shows it.

const form = document.getElementById("start");
if (form) {
  const byId = (id) => document.getElementById(id);
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
    byId("cost-notes").replaceChildren(...plan.notes.map((note) => item(note)));
    byId("step-names").replaceChildren(...plan.steps.map((step) => item(step.name, step.seconds ? duration(step.seconds) : "")));
    // The form of a queue asks for the code itself.
    if (!byId("go")) return;
    byId("erase-part").hidden = !needs.erase;
    byId("lock-part").hidden = !needs.unlock;
    byId("go").className = plan.destroys ? "erase" : "primary";
    byId("go").textContent = needs.unlock ? "Continue to unlock…" : plan.destroys ? "Erase and start" : "Start";
  };

  const show = (answer, isValid) => {
    byId("cost-problem").hidden = isValid;
    byId("cost-list").hidden = !isValid;
    byId("cost-steps").hidden = !isValid;
    byId("cost-notes").hidden = !isValid;
    mark(isValid ? null : answer.error?.field);
    if (isValid) showPlan(answer);
    else byId("cost-problem").textContent = answer.error?.message ?? "No estimate available.";
  };

  const estimate = async () => {
    const requestNumber = ++requests;
    try {
      const answer = await fetch(`${byId("cost").dataset.url}?${query()}`);
      const result = await answer.json();
      if (requestNumber === requests) show(result, answer.ok);
    } catch {
      if (requestNumber === requests) show({ error: { message: "The bench does not answer." } }, false);
    }
  };

  form.addEventListener("input", (event) => {
    if (event.target.id === "erase") return;
    clearTimeout(timer);
    timer = setTimeout(estimate, event.target.tagName === "SELECT" ? 0 : 250);
  });
}
