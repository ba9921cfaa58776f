function redraw() {
  waiting.disconnect();
  hush();
  sheet = layOut();
  const rows = [head()];
  for (const { family, members } of families) {
    const shown = members.filter(wanted);
    if (!shown.length) continue;
    const open = state.families.has(family) || state.needle !== "" || state.statuses.size > 0;
    const missed = shown.filter((fault) => !fault.accepted).length;
    const row = line(shown, "family",
      el("span", {}, open ? "\u25be" : "\u25b8"), el("span", { className: "what" }, family),
      missed ? el("span", { className: "idle-mark" }, `${missed} not accepted`) : "",
      el("span", { className: "number" }, many(shown.length, "fault")));
    row.firstChild.addEventListener("click", () => toggle(state.families, family));
    rows.push(row, ...(open ? shown.flatMap(faultRow) : []));
  }
  $("sheet").replaceChildren(...rows);
  $("nothing").hidden = rows.length > 1;
  $("families").textContent = state.families.size === families.length ? "Fold libraries" : "Open libraries";
  $("files").textContent = state.files.size === files.length ? "Fold test files" : "Open test files";
  for (const button of $("statuses").children) button.setAttribute("aria-pressed", state.statuses.has(button.value));
  showTests();
}

function all(set, names) {
  const whole = set.size === names.length;
  set.clear();
  if (!whole) names.forEach((name) => set.add(name));
  redraw();
}

function testRow(test) {
  const mark = test.idle ? el("span", { className: test.reason ? "dim" : "idle-mark" }, test.reason || "kills nothing") : "";
  const names = (list) => (list === null ? "" : el("span", { title: list.join("\n") }, String(list.length)));
  return el("tr", {},
    el("td", { className: "id" }, nameOf(test)), el("td", { className: "number" }, names(test.kills)),
    el("td", { className: "number" }, names(test.unique)), el("td", { className: "number" }, names(test.seams)),
    el("td", { className: "number" }, seconds(test.seconds)), el("td", {}, mark));
}

function showTests() {
  const boxes = [];
  const idleIn = ({ places }) => places.filter((place) => tests[place].idle && !tests[place].reason).length;
  for (const file of files.toSorted((a, b) => idleIn(b) - idleIn(a))) {
    const kept = file.places.map((place) => tests[place]).filter((test) => test.id.toLowerCase().includes(state.needle));
    if (!kept.length) continue;
    const idle = kept.filter((test) => test.idle && !test.reason).length;
    const total = kept.reduce((sum, test) => sum + (test.seconds ?? 0), 0);
    const box = el("details", {}, el("summary", {},
      el("span", { className: "id" }, file.file), ` ${many(kept.length, "test")}, ${seconds(total)} `,
      idle ? el("span", { className: "idle-mark" }, `${idle} kill${idle === 1 ? "s" : ""} nothing`) : ""));
    box.addEventListener("toggle", () => {
      if (box.open && box.children.length === 1) {
        const titles = ["test", "kills", "alone", "seams", "time", ""].map((title) => el("th", {}, title));
        box.append(el("table", {}, el("tr", {}, ...titles), ...kept.map(testRow)));
      }
    });
    boxes.push(box);
  }
  $("tests").replaceChildren(...boxes);
}

function list(title, names, ...note) {
  const items = names.map((name) => el("li", { className: "id" }, name));
  return el("details", {}, el("summary", {}, title, ...note), el("ul", {}, ...items));
}

function showAnalysis() {
  const { idle, duplicates, one_killer: lone, smallest, source_mutants: mutants } = analysis;
  const bound = smallest.exact ? "" : " (an upper bound: the search was cut short)";
  const beside = mutants ? `, nor any of ${mutants} source mutants` : "";
  $("analysis").append(
    list(`${many(smallest.tests.length, "test")} of ${tests.length} still kill every fault that is killed now${bound}`, smallest.tests),
    list(`${many(idle.length, "test")} kill no fault${beside}`, idle),
    list(`${many(duplicates.length, "group")} of faults that exactly the same tests kill`, duplicates.map((group) => group.join(", "))),
    list(`${many(Object.keys(lone).length, "fault")} with one killer only`, Object.entries(lone).map(([fault, test]) => `${fault}: ${test}`)),
  );
}

for (const [status, count] of Object.entries(campaign.counts)) {
  const button = el("button", { value: status }, `${count} ${status}`);
  button.addEventListener("click", () => toggle(state.statuses, status));
  $("statuses").append(button);
}
for (const [look, text] of Object.entries(LEGEND)) $("legend").append(el("span", {}, el("i", { className: `swatch ${look}` }), text));
$("legend").append(el("span", {}, "blank: did not run, since it does not enter the seam. Click a fault for its story, a column's name to open or fold its file."));
$("filter").addEventListener("input", (event) => {
  state.needle = event.target.value.trim().toLowerCase();
  redraw();
});
$("families").addEventListener("click", () => all(state.families, families.map(({ family }) => family)));
$("files").addEventListener("click", () => all(state.files, files.map(({ file }) => file)));
if (analysis) showAnalysis();
redraw();
