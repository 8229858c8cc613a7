"use strict";
const by = id => document.getElementById(id), token = location.hash.slice(1);
let drawn = "";
function line(text) { const made = document.createElement("p"); made.textContent = text; return made; }
function share(value) { return value === null || value === undefined ? "–" : (100 * value).toFixed(1) + "%"; }
function count(value) { return value.toLocaleString("en"); }
function hours(left) {
  const minutes = Math.ceil(60 * left);
  return left >= 1 ? left.toFixed(1) + " hours" : minutes + (minutes === 1 ? " minute" : " minutes");
}
function row(one) {
  const made = document.createElement("tr"), last = one.last ? new Date(one.last).toLocaleTimeString() : "–";
  const pace = one.per_hour ? count(Math.round(one.per_hour)) : "–";
  for (const text of [one.name, count(one.answers), count(one.skips), pace, share(one.agrees), last, ""]) {
    const cell = document.createElement("td");
    cell.textContent = text;
    made.append(cell);
  }
  if (one.link) {
    const link = document.createElement("a");
    link.href = one.link;
    link.textContent = "page of " + one.name;
    made.lastChild.append(link);
  }
  return made;
}
function show(state) {
  const done = state.planned - state.open, left = state.left_hours;
  by("study").textContent = document.title = state.study;
  by("question").textContent = state.question;
  by("progress").value = state.planned ? done / state.planned : 1;
  const time = left && state.open && !state.over ? ", about " + hours(left) + " of one person's work" : "";
  const tasks = count(state.open) + " of " + count(state.planned) + " tasks are open";
  by("count").textContent = count(state.answers) + " answers; " + tasks + time + ".";
  by("trouble").textContent = state.trouble ? "Not evaluated: " + state.trouble : "";
  by("lines").replaceChildren(...state.lines.map(line), ...(state.over ? [line("No more tasks are handed out.")] : []));
  by("people").replaceChildren(...state.people.map(row));
  const on = state.overlap ? " " + share(state.overlap) + " of all tasks, drawn at random, go to two people." : "";
  const items = state.agreement.items, several = items === 1 ? " item" : " items";
  by("agreement").textContent = (items ? "On " + count(items) + several + " with several votes, " +
    share(state.agreement.percent) + " of pairs of votes agree." : "") + on;
  const notes = state.notes.map(one => line(one.annotator + ", rank " + one.rank + ": " + one.note));
  const head = Object.assign(document.createElement("h2"), {textContent: "Notes"});
  by("notes").replaceChildren(...(notes.length ? [head, ...notes] : []));
  if (state.evaluation && state.evaluation !== drawn) {
    drawn = state.evaluation;
    by("report").hidden = false;
    by("report").src = state.report;
  }
}
async function ask() {
  try {
    const headers = {"Authorization": "Bearer " + token};
    const reply = await fetch("api/owner", {method: "POST", headers, cache: "no-store", credentials: "omit"});
    const state = await reply.json();
    if (reply.ok) show(state); else by("trouble").textContent = state.error;
  } catch (error) { by("trouble").textContent = "Not connected."; }
  setTimeout(ask, 5000);
}
ask();
