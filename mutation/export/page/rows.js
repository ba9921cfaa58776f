function layOut() {
  let x = GAP;
  const columns = [];
  for (const { file, places } of files) {
    if (state.files.has(file)) {
      for (const place of places) {
        columns.push({ file, places: [place], test: place, x, width: TEST_WIDTH });
        x += TEST_WIDTH;
      }
    } else {
      columns.push({ file, places, x, width: FILE_WIDTH });
      x += FILE_WIDTH;
    }
    x += GAP;
  }
  return { columns, width: x + 40 };
}

let sheet = layOut();
const waiting = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => {
    waiting.unobserve(target);
    target.append(strip(target.members));
  }),
  { root: $("matrix"), rootMargin: "400px" },
);

function tally(members, places) {
  const counts = {};
  for (const fault of members) {
    const cells = cellsOf(fault);
    for (const place of places) {
      const look = cells.get(place)?.look;
      if (look) counts[look] = (counts[look] ?? 0) + 1;
    }
  }
  return counts;
}

// One path for each look, whatever the number of cells: a row costs a handful of nodes.
function strip(members) {
  const svg = draw("svg", { width: sheet.width, height: ROW });
  const paths = {};
  for (const column of sheet.columns) {
    const counts = tally(members, column.places);
    const look = ORDER.find((name) => counts[name]);
    if (!look) continue;
    const inset = look === "pass" || look === "skip" ? column.width / 2 - 2.5 : 1.5;
    const size = column.width - 2 * inset;
    const height = look === "pass" || look === "skip" ? 5 : ROW - 6;
    paths[look] = `${paths[look] ?? ""}M${column.x + inset} ${(ROW - height) / 2}h${size}v${height}h${-size}z`;
    if (look !== "pass" && look !== "skip" && (column.places.length > 1 || members.length > 1)) {
      column.counted = String(counts[look]);
    } else {
      column.counted = "";
    }
  }
  for (const [look, d] of Object.entries(paths)) svg.append(draw("path", { class: look, d }));
  for (const column of sheet.columns) {
    if (column.counted && !(column.width === TEST_WIDTH && column.counted.length > 2)) {
      svg.append(draw("text", { class: "count", x: column.x + column.width / 2, y: ROW / 2 + 4 }, column.counted));
    }
    column.counted = "";
  }
  svg.addEventListener("mousemove", (event) => tell(event, members, columnAt(event.offsetX)));
  svg.addEventListener("mouseleave", hush);
  return svg;
}

const columnAt = (x) => sheet.columns.find((column) => column.x <= x && x < column.x + column.width);

function tell(event, members, column) {
  if (!column) return hush();
  const lines = [];
  if (members.length === 1 && column.test !== undefined) {
    const cell = cellsOf(members[0]).get(column.test);
    lines.push(el("b", {}, members[0].name), el("div", { className: "id" }, tests[column.test].id));
    lines.push(el("div", {}, cell ? `${LEGEND[cell.look]} (${cell.kind}) ${seconds(cell.seconds)}` : "did not run: it does not enter the seam, or was not needed"));
    if (cell?.message) lines.push(el("pre", {}, clip(cell.message, 1500)));
  } else {
    const counts = tally(members, column.places);
    const what = members.length === 1 ? members[0].name : `${members[0].family}: ${many(members.length, "fault")}`;
    const where = column.test === undefined ? `${column.file}: ${many(column.places.length, "test")}` : tests[column.test].id;
    lines.push(el("b", {}, what), el("div", { className: "id" }, where));
    for (const look of ORDER) if (counts[look]) lines.push(el("div", {}, `${counts[look]} ${LEGEND[look]}`));
    if (!lines[2]) lines.push(el("div", {}, "none ran"));
    const said = members.length === 1 && column.places.map((place) => cellsOf(members[0]).get(place)).find((cell) => cell?.message);
    if (said) lines.push(el("div", { className: "id" }, nameOf(tests[said.test])), el("pre", {}, clip(said.message, 900)));
  }
  show(event, lines);
}

function show(event, lines) {
  const tip = $("tip");
  tip.replaceChildren(...lines);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${event.clientY + height + 24 < innerHeight ? event.clientY + 16 : Math.max(8, event.clientY - height - 12)}px`;
}

function hush() {
  $("tip").hidden = true;
}

function toggle(set, value) {
  if (!set.delete(value)) set.add(value);
  redraw();
}

function head() {
  const longest = Math.max(...sheet.columns.map(({ file, test }) => (test === undefined ? baseOf(file).length + 7 : nameOf(tests[test]).length)));
  const HEAD = 28 + 6.2 * Math.min(longest, LABEL + 6);
  const svg = draw("svg", { width: sheet.width, height: HEAD });
  const opened = new Set();
  for (const { file, places, test, x, width } of sheet.columns) {
    const at = x + width / 2 + 4;
    const idle = test === undefined ? places.every((place) => tests[place].idle) : tests[test].idle;
    if (test === undefined || !opened.has(file)) {
      const count = test === undefined ? ` (${places.length})` : "";
      const y = test === undefined ? HEAD - 6 : 14;
      const turn = test === undefined ? `rotate(-90 ${at} ${y})` : "";
      const room = test === undefined ? LABEL : Math.max(3, Math.floor((files.find((one) => one.file === file).places.length * TEST_WIDTH) / 6.5));
      const label = draw("text", { class: `label file${idle ? " idle" : ""}`, x: test === undefined ? at : x, y, transform: turn }, cut(baseOf(file), room) + count);
      label.addEventListener("click", () => toggle(state.files, file));
      label.addEventListener("mousemove", (event) => show(event, [el("div", { className: "id" }, file), el("div", {}, `click to ${test === undefined ? "open" : "fold"}`)]));
      label.addEventListener("mouseleave", hush);
      svg.append(label);
      opened.add(file);
    }
    if (test !== undefined) {
      const label = draw("text", { class: `label${idle ? " idle" : ""}`, x: at, y: HEAD - 6, transform: `rotate(-90 ${at} ${HEAD - 6})` }, clip(nameOf(tests[test]), LABEL));
      label.addEventListener("click", () => toggle(state.files, file));
      label.addEventListener("mousemove", (event) => show(event, [el("div", { className: "id" }, tests[test].id), el("div", {}, verdictOn(tests[test]))]));
      label.addEventListener("mouseleave", hush);
      svg.append(label);
    }
  }
  return el("div", { className: "row head" }, el("div", { className: "name" }, el("span", { className: "what" }, "fault"), el("span", { className: "number" }, "killers/ran, time")), svg);
}

function verdictOn(test) {
  if (test.kills === null) return seconds(test.seconds);
  if (test.idle) return `kills nothing${test.reason ? `: ${test.reason}` : ""}`;
  return `kills ${many(test.kills.length, "fault")}, ${test.unique.length} of them alone; ${seconds(test.seconds)}`;
}

function line(members, className, ...name) {
  const row = el("div", { className: `row ${className}`, members }, el("button", { className: "name" }, ...name));
  waiting.observe(row);
  return row;
}

function pill(fault) {
  const look = fault.reason ? "as-expected" : fault.status.replaceAll(" ", "-");
  return el("span", { className: `status ${look}` }, fault.status);
}

function faultRow(fault) {
  const ran = fault.passed.length + fault.cells.length;
  const row = line([fault], "fault",
    pill(fault), el("span", { className: "what", title: fault.name }, fault.name),
    fault.effect === "matched" ? "" : el("span", { className: "idle-mark" }, `effect ${fault.effect}`),
    el("span", { className: "number" }, `${fault.killers.length}/${ran}, ${seconds(fault.seconds)}`));
  row.firstChild.addEventListener("click", () => toggle(state.told, fault.name));
  return state.told.has(fault.name) ? [row, story(fault)] : [row];
}

function story(fault) {
  const box = el("div", { className: "story" }, el("p", {}, fault.mechanism));
  box.append(el("p", { className: "dim" }, el("span", { className: "id" }, fault.seam), `, called ${many(fault.hits, "time")}; `, link(fault.source)));
  if (fault.reason) box.append(el("p", {}, `As expected: ${fault.reason}`));
  if (fault.note) box.append(el("pre", {}, fault.note));
  const said = fault.cells.toSorted((a, b) => b.confirmed - a.confirmed || a.seconds - b.seconds);
  for (const cell of said.slice(0, 25)) {
    const look = cellsOf(fault).get(cell.test).look;
    box.append(el("div", { className: "id" }, tests[cell.test].id, el("span", { className: "dim" }, ` ${LEGEND[look]}, ${seconds(cell.seconds)}`)), el("pre", {}, cell.message));
  }
  if (said.length > 25) box.append(el("p", { className: "dim" }, `and ${said.length - 25} more: matrix.json has them all`));
  return box;
}
