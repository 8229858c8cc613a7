"""An offline labelling page: one HTML file for those who have no tool.

Keys 1, 0 and s (skip), back with the arrow or b; progress is kept in the browser, under the name of whoever answers, so
that people who share a computer do not share their answers; these are saved as a CSV with who said what and when. The
name is remembered while the tab is open. Items are data and never markup: they are put in as texts, and the page's
policy lets no script run but its own and no request leave.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import asdict

import pyarrow as pa

from streameval.labelling.exports import OURS, TaskQuestion, unambiguous
from streameval.labelling.exports.cells import dumps, records, text

SUFFIX = ".html"
HOW = "people open it in a browser and save their answers as CSV"
BACK = "labels-*.csv"


def write(tasks: pa.Table, path: str, question: TaskQuestion) -> None:
    """Write one self-contained file."""
    shown = unambiguous(tasks)
    names = [name for name in shown.column_names if name not in OURS]
    study = shown.column("se_study")[0].as_py() if shown.num_rows else ""
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    head, tail = _PAGE.replace("%HASH%", digest).replace("%SCRIPT%", _SCRIPT).split("%TASKS%")
    with open(path, "w", encoding="utf-8", newline="\n", errors="replace") as stream:
        stream.write(head)
        before = {"study": study, "names": names, "question": asdict(question)}
        stream.write(_inert(dumps(before)[:-1] + ', "tasks": ['))
        for i, record in enumerate(records(shown)):
            cells = [text(record[name]) for name in names]
            stream.write(("," if i else "") + "\n" + _inert(dumps([record["se_task"], cells])))
        stream.write("]}")
        stream.write(tail)


def _inert(json: str) -> str:
    """JSON that cannot end the element it stands in."""
    return json.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


_SCRIPT = """
"use strict";
const {study, names, question, tasks} = JSON.parse(document.getElementById("tasks").textContent);
const by = id => document.getElementById(id);
const place = "streameval:" + study + ":" + tasks.length + ":" + (tasks.length ? tasks[0][0] : 0);
const people = {};  // where the browser keeps nothing, a change of name must lose nothing
let who = "", kept = {answers: {}, at: 0};
function load(name) {
  who = named(name);
  const before = people["+" + who] || {answers: {}, at: 0};
  try { kept = Object.assign(before, JSON.parse(localStorage.getItem(place + ":" + who) || "{}")); }
  catch (error) { kept = before; warn(); }
  people["+" + who] = kept;
  try { sessionStorage.setItem(place, who); } catch (error) { /* load() has said so */ }
  show();
}
function named(name) { return name.trim().replace(/^[=+@\\-\\s]+/, ""); }
function nameless() {
  if (who) return false;
  by("trouble").textContent = "Your name first: answers are kept and saved under it.";
  by("who").focus();
  return true;
}
function warn() { by("trouble").textContent = "This browser does not keep progress: save the CSV before you leave."; }
function keep() { try { localStorage.setItem(place + ":" + who, JSON.stringify(kept)); } catch (error) { warn(); } }
function show() {
  const done = Object.keys(kept.answers).length, card = by("item");
  card.replaceChildren();
  by("again").disabled = !done;
  by("progress").value = tasks.length ? done / tasks.length : 1;
  by("count").textContent = done + " of " + tasks.length + " answered";
  const task = tasks[kept.at];
  if (!task) { card.textContent = "That was the last one. Save the CSV."; by("said").textContent = ""; return; }
  names.forEach((name, i) => {
    const head = document.createElement("h2"), cell = document.createElement("p");
    head.textContent = name; cell.textContent = task[1][i]; cell.dir = "auto";
    card.append(head, cell);
  });
  const said = kept.answers[task[0]];
  const words = {"1": question.yes, "0": question.no, "skip": "skipped"};
  by("said").textContent = "Task " + (kept.at + 1) + (said ? ": " + words[said[0]] : "");
}
function answer(value) {
  const task = tasks[kept.at];
  if (!task || nameless()) return;
  kept.answers[task[0]] = [value, new Date().toISOString()];
  move(1);
}
function move(by) { kept.at = Math.min(Math.max(kept.at + by, 0), tasks.length); keep(); show(); }
function quote(text) { return '"' + text.replace(/"/g, '""') + '"'; }
function csv() {
  const rows = Object.entries(kept.answers).map(
    ([task, [value, when]]) => [study, task, value, quote(who), when].join(","));
  return ["se_study,se_task,label,annotator,time", ...rows].join("\\r\\n") + "\\r\\n";
}
by("one").onclick = () => answer("1");
by("zero").onclick = () => answer("0");
by("skip").onclick = () => answer("skip");
by("back").onclick = () => move(-1);
by("next").onclick = () => move(1);
by("who").onchange = () => { by("trouble").textContent = ""; load(by("who").value); };
by("again").onclick = () => {
  const many = Object.keys(kept.answers).length;
  if (!confirm("Start over? The " + many + " answers of " + who + " kept here go: save them first.")) return;
  kept.answers = {}; kept.at = 0; keep(); show();
};
by("save").onclick = () => {
  if (nameless()) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv()], {type: "text/csv"}));
  link.download = "labels-" + study + "-" + who.replace(/[^A-Za-z0-9]+/g, "_") + ".csv";
  link.click();
};
by("who").onkeydown = event => { if (event.key === "Enter") by("who").blur(); };  // which is a change, if it is one
addEventListener("keydown", event => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = {"1": () => answer("1"), "0": () => answer("0"), "s": () => answer("skip"),
                "b": () => move(-1), "ArrowLeft": () => move(-1), "ArrowRight": () => move(1)};
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
by("question").textContent = question.text;
by("yes").textContent = question.yes;
by("no").textContent = question.no;
let before = "";  // whoever opens the page says who they are; not again when it is loaded again
try { before = sessionStorage.getItem(place) || ""; } catch (error) { /* load() says so */ }
by("who").value = before;
load(before);
"""

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'sha256-%HASH%'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,"><title>Labels</title><style>
:root{color-scheme:light dark;--ink:#1b2733;--soft:#5b6b7a;--line:#d9e0e6;--band:#2f6db0;--page:#fff;
--yes:#e7f4ea;--no:#fbeaea}
@media(prefers-color-scheme:dark){:root{--ink:#e6ebf0;--soft:#9fb0bf;--line:#3a4753;--band:#7fb2e8;--page:#161c22;
--yes:#1d3b27;--no:#472424}}
body{font:18px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:46rem;
margin:1.5rem auto;padding:0 1rem}
#item{border:1px solid var(--line);border-radius:.5rem;padding:.5rem 1.2rem;min-height:10rem}
h1{font-size:1.15rem;margin:.8rem 0;overflow-wrap:anywhere}h1:empty{display:none}
h2{font-size:.85rem;color:var(--soft);margin:.8rem 0 0;font-weight:600}
p{white-space:pre-wrap;overflow-wrap:anywhere;margin:.1rem 0 .6rem;unicode-bidi:isolate}
button{font:inherit;padding:.5rem 1.2rem;margin:.8rem .4rem .4rem 0;border:1px solid var(--line);border-radius:.4rem;
color:inherit;background:var(--page);cursor:pointer}
button:focus-visible,input:focus-visible{outline:3px solid var(--band)}
#one{background:var(--yes)}#zero{background:var(--no)}progress{width:100%}.soft{color:var(--soft);font-size:.9rem}
input{font:inherit;padding:.2rem .5rem;border:1px solid var(--line);border-radius:.3rem}kbd{color:var(--soft)}
</style></head><body>
<progress id="progress" max="1" value="0" aria-label="Progress"></progress>
<p class="soft"><span id="count"></span> <span id="trouble"></span></p>
<h1 id="question"></h1>
<main id="item" aria-live="polite"></main>
<p class="soft" id="said"></p>
<button id="one"><span id="yes"></span> <kbd>1</kbd></button>
<button id="zero"><span id="no"></span> <kbd>0</kbd></button>
<button id="skip">skip <kbd>s</kbd></button><button id="back">back <kbd>←</kbd></button>
<button id="next">forward <kbd>→</kbd></button>
<p><label class="soft">Your name <input id="who" autocomplete="name" enterkeyhint="done"></label>
<button id="save">Save CSV</button> <button id="again">Start over</button></p>
<script type="application/json" id="tasks">%TASKS%</script><script>%SCRIPT%</script></body></html>
"""
