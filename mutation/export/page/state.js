"use strict";
const campaign = JSON.parse(document.getElementById("document").textContent);
const { tests, faults, analysis } = campaign;
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const [FILE_WIDTH, TEST_WIDTH, GAP, ROW, LABEL] = [30, 15, 5, 22, 36];
const KINDS = { assert: "kill", refusal: "kill", error: "error", crash: "lost", timeout: "lost", uncollected: "lost", skipped: "skip" };
const LEGEND = {
  kill: "noticed, twice", once: "noticed once, not again", error: "error, no assertion", lost: "crash, timeout or not collected",
  pass: "passed", skip: "skipped",
};
const ORDER = Object.keys(LEGEND);

function el(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

function draw(tag, attributes, text = "") {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}

const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const seconds = (spent) => (spent === null ? "" : `${spent < 10 ? spent.toFixed(1) : Math.round(spent)} s`);
const nameOf = (test) => test.id.slice(test.file.length + 2) || test.id;
const baseOf = (file) => file.split("/").pop();
const clip = (text, size) => (text.length <= size ? text : `${text.slice(0, size - 12)}\u2026${text.slice(-11)}`);
const cut = (text, size) => (text.length <= size ? text : `${text.slice(0, size - 1)}\u2026`);
const link = (url) => (/^https?:/.test(url) ? el("a", { href: url, rel: "noreferrer" }, url) : url);

// Tests stand file by file; `state` holds what the reader has opened and asked for.
const files = [...Map.groupBy(tests.map((test, place) => place), (place) => tests[place].file)].map(([file, places]) => ({ file, places }));
const families = [...Map.groupBy(faults, (fault) => fault.family)].map(([family, members]) => ({ family, members }));
families.sort((a, b) => b.members.filter((fault) => !fault.accepted).length - a.members.filter((fault) => !fault.accepted).length || a.family.localeCompare(b.family));
const state = {
  needle: "",
  statuses: new Set(),
  families: new Set(families.filter(({ members }) => faults.length <= 80 || members.some((fault) => !fault.accepted)).map(({ family }) => family)),
  files: new Set(tests.length <= 60 ? files.map(({ file }) => file) : []),
  told: new Set(),
};

function cellsOf(fault) {
  if (!fault.byTest) {
    fault.byTest = new Map(fault.passed.map((test) => [test, { test, kind: "pass", look: "pass", message: "", seconds: null }]));
    for (const cell of fault.cells) {
      const kind = KINDS[cell.kind];
      fault.byTest.set(cell.test, { ...cell, look: kind === "kill" && !cell.confirmed ? "once" : kind });
    }
  }
  return fault.byTest;
}

function textOf(fault) {
  fault.text ??= [
    fault.name, fault.seam, fault.status, fault.mechanism, fault.note,
    ...fault.cells.flatMap((cell) => [tests[cell.test].id, cell.message]),
  ].join("\n").toLowerCase();
  return fault.text;
}

const wanted = (fault) =>
  (!state.statuses.size || state.statuses.has(fault.status)) && textOf(fault).includes(state.needle);
