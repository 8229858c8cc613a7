"use strict";
// One page in two places: a file whose answers are kept by the browser, or served by `streameval label`.
const boot = JSON.parse(document.getElementById("tasks").textContent);
let {study, names, question, tasks} = boot;
const by = id => document.getElementById(id);
let who = "", kept = {answers: {}, at: 0}, since = Date.now(), drawn = null;

function cell(name, text) {
  const head = document.createElement("h2");
  head.textContent = name;
  if (question.images.includes(name) && /^(data:image\/|https?:\/\/)/i.test(text)) {
    const picture = document.createElement("img");
    picture.alt = name;
    picture.referrerPolicy = "no-referrer";
    picture.onload = () => picture.classList.toggle("small", picture.naturalWidth < 100);
    picture.src = text;
    return [head, picture];
  }
  if (!text) {
    const nothing = document.createElement("p");
    nothing.className = "soft";
    nothing.textContent = "(empty)";
    return [head, nothing];
  }
  const lines = text.split("\n");  // code and drawings have short lines, and need a fixed font
  const fixed = lines.length > 1 && lines.every(line => line.length <= 100);
  const body = document.createElement(fixed ? "pre" : "p");
  body.dir = "auto";
  text.split(/(https?:\/\/[^\s<>"']+)/i).forEach((part, i) => {
    if (i % 2 === 0) { body.append(part); return; }
    const link = document.createElement("a");
    link.href = link.textContent = part;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    body.append(link);
  });
  return [head, body];
}

function show() {
  const card = by("item"), task = tasks[kept.at];
  if (task !== drawn) scrollTo(0, 0);  // else a long item would begin where the one before it was left
  drawn = null;
  // a later round may show other columns
  card.replaceChildren(...(task ? (task[2] || names).flatMap((name, i) => cell(name, task[1][i])) : [desk.atEnd()]));
  drawn = task;
  for (const one of ["one", "zero", "skip", "note"]) by(one).disabled = !task;
  const said = task && kept.answers[task[0]];
  const words = {"1": question.yes, "0": question.no, "skip": "skipped"};
  by("said").textContent = task ? desk.place() + (said ? ": " + words[said[0]] : "") : "";
  by("note").value = said ? said[2] || "" : "";
  const [done, all] = desk.progress();
  by("progress").value = all ? done / all : 1;
  since = Date.now();
}
function start() {
  by("question").textContent = question.text;
  by("yes").textContent = question.yes;
  by("no").textContent = question.no;
  by("rules").innerHTML = question.guidelines;  // made by streameval from Markdown, without any markup of its own
  for (const link of by("rules").querySelectorAll("a")) { link.target = "_blank"; link.rel = "noopener noreferrer"; }
  by("guide").hidden = !question.guidelines;
  show();
}
function answer(value) {
  const task = tasks[kept.at];
  if (!task || task !== drawn || !desk.ready()) return;  // nobody answers what they do not see
  kept.answers[task[0]] = [value, new Date().toISOString(), by("note").value.trim()];
  desk.answered(task[0], value, by("note").value.trim(), Date.now() - since);
  by("note").blur();
  move(1);
}
function move(by) { kept.at = Math.min(Math.max(kept.at + by, 0), tasks.length); desk.moved(); show(); }

function fileDesk() {
  const place = "streameval:" + study + ":" + tasks.length + ":" + (tasks.length ? tasks[0][0] : 0);
  const people = {};  // where the browser keeps nothing, a change of name must lose nothing
  function warn() {
    by("trouble").textContent = "This browser does not keep progress: save the CSV before you leave.";
  }
  function keep() { try { localStorage.setItem(place + ":" + who, JSON.stringify(kept)); } catch (error) { warn(); } }
  function load(name) {
    who = name.trim().replace(/^[=+@\-\s]+/, "");
    const before = people["+" + who] || {answers: {}, at: 0};
    try { kept = Object.assign(before, JSON.parse(localStorage.getItem(place + ":" + who) || "{}")); }
    catch (error) { kept = before; warn(); }
    people["+" + who] = kept;
    try { sessionStorage.setItem(place, who); } catch (error) { /* load() has said so */ }
    show();
  }
  function nameless() {
    if (who) return false;
    by("trouble").textContent = "Enter your name first: answers are saved under it.";
    by("who").focus();
    return true;
  }
  function quote(text) { return '"' + text.replace(/"/g, '""') + '"'; }
  function harmless(text) { return quote(/^[=+@\-\t\r]/.test(text) ? "'" + text : text); }
  function csv() {
    const rows = Object.entries(kept.answers).map(([task, [value, when, note]]) =>
      [study, task, value, quote(who), when, harmless(note || "")].join(","));
    return ["se_study,se_task,label,annotator,time,note", ...rows].join("\r\n") + "\r\n";
  }
  by("who").onchange = () => { by("trouble").textContent = ""; load(by("who").value); };
  by("who").onkeydown = event => { if (event.key === "Enter") by("who").blur(); };  // a change, if it is one
  by("again").onclick = () => {
    const many = Object.keys(kept.answers).length;
    if (!confirm("Start over? This deletes the " + many + " answers of " + who + " in this browser. Save them first.")) return;
    kept.answers = {}; kept.at = 0; keep(); show();
  };
  by("save").onclick = () => {
    if (nameless()) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv()], {type: "text/csv"}));
    link.download = "labels-" + study + "-" + who.replace(/[^A-Za-z0-9]+/g, "_") + ".csv";
    link.click();
  };
  return {
    ready: () => !nameless(),
    answered: () => keep(),
    moved: keep,
    place: () => "Task " + (kept.at + 1),
    atEnd: () => "That was the last one. Save the CSV.",
    progress: () => {
      const done = Object.keys(kept.answers).length;
      by("again").disabled = !done;
      by("count").textContent = done + " of " + tasks.length + " answered";
      return [done, tasks.length];
    },
    open: () => {
      let before = "";  // whoever opens the page says who they are; not again when it is loaded again
      try { before = sessionStorage.getItem(place) || ""; } catch (error) { /* load() says so */ }
      by("who").value = before;
      start();
      load(before);
    },
  };
}

function servedDesk() {
  const token = location.hash.slice(1), tab = random(), unkept = new Map();
  let counts = {mine: 0, open: 0}, message = "", busy = false, again = false, wait = 1000, timer = 0, outbox = "";
  function random() {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), one => one.toString(16).padStart(2, "0")).join("");
  }
  function trouble(text) { by("trouble").textContent = text; }
  function post(path, body, how) {
    const headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"};
    const rest = {cache: "no-store", credentials: "omit", ...how};
    return fetch(path, {method: "POST", headers, body: JSON.stringify(body), ...rest});
  }
  async function call(path, body) {
    const reply = await post(path, body, {signal: AbortSignal.timeout(20000)});
    if (reply.ok) return reply.json();
    const why = await reply.json().then(one => one.error, () => "");
    const fault = new Error(why || "the server answered " + reply.status);
    fault.known = Boolean(why);
    throw fault;
  }
  // an answer stays here, one key of the browser's storage for each, until the server says that it is on its disk
  function waiting() {
    const all = new Map(unkept);
    try {
      for (const key of Object.keys(localStorage)) {
        const mine = outbox && key.startsWith(outbox) && /^[0-9a-f]{32}$/.test(key.slice(outbox.length));
        const one = mine && JSON.parse(localStorage.getItem(key));  // null where another tab has just sent it
        if (one) all.set(key, one);
      }
    } catch (error) { /* it is in `unkept` */ }
    return [...all].sort((a, b) => a[1].at - b[1].at);
  }
  function put(one) {
    try { localStorage.setItem(outbox + one.id, JSON.stringify(one)); } catch (error) { unkept.set(outbox + one.id, one); }
  }
  function drop(key) {
    unkept.delete(key);
    try { localStorage.removeItem(key); } catch (error) { /* it was never there */ }
  }
  function told([, one]) {
    const ago = Math.max(0, Date.now() - one.at);
    return {id: one.id, task: one.task, answer: one.answer, note: one.note, took: one.took, ago};
  }
  function leave() {  // what goes wrong here does no harm: answers stay, and tasks are given back after a while
    if (who) post("api/work", {tab, answers: waiting().slice(0, 5).map(told), leaving: true}, {keepalive: true}).catch(() => 0);
  }
  async function sync() {
    if (busy) { again = true; return; }
    busy = true;
    clearTimeout(timer);
    const sent = waiting().slice(0, 50);
    try {
      const have = unanswered().slice(0, 50).map(task => task[0]);
      const reply = await call("api/work", {tab, have, answers: sent.map(told)});
      const refused = new Map(reply.refused);
      sent.forEach(([key, one]) => { if (reply.kept.includes(one.id) || refused.has(one.id)) drop(key); });
      trouble([...refused.values()].slice(0, 1).join(""));
      received(reply);
      wait = 1000;
      again = again || waiting().length > 0;
      timer = setTimeout(sync, again ? 0 : tasks.length > kept.at ? 30000 : reply.state === "wait" ? 2000 : 15000);
    } catch (error) {
      const many = waiting().length;
      const held = many ? " " + many + (many === 1 ? " answer waits" : " answers wait") + " here, to be sent again." : "";
      trouble((error.known ? error.message + "." : "Not connected.") + held);
      timer = setTimeout(sync, wait);
      wait = Math.min(2 * wait, 15000);
    }
    busy = again = false;
  }
  function unanswered() { return tasks.filter(task => !kept.answers[task[0]]); }
  function received(reply) {
    const at = tasks[kept.at], given = new Set(reply.tasks.map(task => task[0]));
    counts = reply.counts;
    message = reply.message;
    // what others have by now goes, but not under the eyes of whoever is at it
    tasks = tasks.filter(task => kept.answers[task[0]] || given.has(task[0]) || (task === at && reply.state !== "answered"));
    const known = new Set(tasks.map(task => task[0]));
    const fresh = reply.tasks.filter(task => task[1] && !known.has(task[0]));
    tasks.push(...fresh.map(task => [...task, reply.names]));
    const place = tasks.indexOf(at), [next] = unanswered();
    kept.at = place >= 0 ? place : next ? tasks.indexOf(next) : tasks.length;
    if (tasks[kept.at] !== at || !at) show(); else desk.progress();
  }
  addEventListener("online", sync);
  addEventListener("pagehide", leave);
  addEventListener("pageshow", event => { if (event.persisted) location.reload(); });
  addEventListener("beforeunload", event => { if (waiting().length) event.preventDefault(); });
  return {
    ready: () => true,
    answered: (task, value, note, took) => { put({id: random(), task, answer: value, note, took, at: Date.now()}); sync(); },
    moved: () => { if (kept.at >= tasks.length) sync(); },
    place: () => "",
    atEnd: () => message || "One moment …",
    progress: () => {
      const many = counts.mine.toLocaleString("en") + (counts.mine === 1 ? " answer" : " answers") + " by " + who;
      by("count").textContent = who ? many + ", " + counts.open.toLocaleString("en") + (counts.open === 1 ? " task open" : " tasks open") : "";
      return [counts.done, counts.done + counts.open];
    },
    open: async () => {
      by("mine").hidden = true;
      if (!token) { by("item").textContent = "Open the link that you were given: it says who you are."; return; }
      try {
        const first = await call("api/start", {});
        ({study, names, question} = first);
        who = first.who;
        outbox = "streameval:out:" + study + ":" + who + ":";
        tasks = first.mine.map(one => [one[0], one[1], names]);
        first.mine.forEach(one => { kept.answers[one[0]] = [one[2], "", one[3]]; });
        kept.at = tasks.length;
        start();
        sync();
      } catch (error) {
        by("item").textContent = error.known ? error.message : "Not connected; this page tries again.";
        if (!error.known) setTimeout(desk.open, 3000);
      }
    },
  };
}

by("one").onclick = () => answer("1");
by("zero").onclick = () => answer("0");
by("skip").onclick = () => answer("skip");
by("back").onclick = () => move(-1);
by("next").onclick = () => move(1);
by("guide").onclick = () => by("guidelines").showModal();
by("note").onkeydown = event => { if (["Enter", "Escape"].includes(event.key)) by("note").blur(); };
addEventListener("keydown", event => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (by("guidelines").open) { if (event.key === "g") by("guidelines").close(); return; }
  const keys = {"1": () => answer("1"), "0": () => answer("0"), "s": () => answer("skip"), "b": () => move(-1),
                "ArrowLeft": () => move(-1), "ArrowRight": () => move(1), "n": () => by("note").focus(),
                "g": () => { if (question.guidelines) by("guidelines").showModal(); }};
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
const desk = tasks ? fileDesk() : servedDesk();
tasks = tasks || [];
desk.open();
