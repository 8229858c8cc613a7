// The cutoff picker: answers as the macros of study.duckdb do, from the same envelope.
const DEN = 10n ** 12n;
const big = value => BigInt(value);
const down = (a, b) => a >= 0n ? a / b : -((-a + b - 1n) / b);
const up = (a, b) => -down(-a, b);

function unzip(text) {
  const bytes = Uint8Array.from(atob(text), one => one.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

function unpack(packed) {
  const values = new Float64Array(packed.n);
  let at = 0, sum = 0;
  for (let i = 0; i < packed.runs.length; i += 2)
    for (let j = 0; j < packed.runs[i + 1]; j++)
      values[at++] = packed.delta ? (sum += packed.runs[i]) : packed.runs[i];
  return values;
}

function open(study) {
  const rank = unpack(study.rank), lower = unpack(study.lower), width = study.width ? unpack(study.width) : null;
  const upper = width ? lower.map((value, i) => value + width[i]) : unpack(study.upper);
  const found = study.yield ? unpack(study.yield) : null, n = rank[rank.length - 1];
  const total = found && found.length === rank.length && study.missed !== null ? found[found.length - 1] + study.missed : NaN;
  return {...study, rank, lower, upper, found, total, last: rank.length - 1, n};
}

// the largest i with values[i] <= wanted
function before(values, wanted) {
  let low = 0, high = values.length - 1;
  while (low < high) { const middle = (low + high + 1) >> 1; if (values[middle] <= wanted) low = middle; else high = middle - 1; }
  return values.length && values[low] <= wanted ? low : -1;
}

// an estimate is cut to its bounds; NaN is none
function triple(lower, estimate, upper) {
  const low = lower === null ? -Infinity : lower, high = upper === null ? Infinity : upper;
  return {lower, estimate: estimate === estimate ? Math.max(Math.min(low, high), Math.min(Math.max(low, high), estimate)) : null, upper};
}

// the estimated yield, straight between knots; NaN where there is none
function yieldAt(s, k) {
  if (!s.found || k < s.first) return NaN;
  const i = before(s.rank, k), j = Math.min(i + 1, s.last);
  return k === s.rank[i] ? s.found[i] ?? NaN : s.found[i] + (s.found[j] - s.found[i]) * ((k - s.rank[i]) / (s.rank[j] - s.rank[i]));
}

// the last rank whose estimated precision is at least t; 0 where there is none
function estimatedDepth(s, t) {
  if (!s.found || s.found.length <= s.last) return NaN;
  let i = s.last;
  while (s.rank[i] >= s.first && !(s.found[i] / s.rank[i] >= t)) i--;
  if (s.rank[i] < s.first) return s.first > 1 ? NaN : 0;
  if (i === s.last) return s.n;
  let low = s.rank[i], high = s.rank[i + 1] - 1;
  while (low < high) { const k = Math.ceil((low + high) / 2); if (yieldAt(s, k) / k >= t) low = k; else high = k - 1; }
  return low;
}

// the first rank whose estimated recall is at least t
function estimatedReach(s, t) {
  if (!(s.total > 0)) return NaN;
  if (s.found[s.last] / s.total < t) return Infinity;
  let low = 1, high = s.n;
  while (low < high) { const k = Math.floor((low + high) / 2); if (yieldAt(s, k) / s.total >= t) high = k; else low = k + 1; }
  return low <= s.first && s.first > 1 ? NaN : low;
}

function atRank(s, k, beta) {
  const i = before(s.rank, k), j = Math.min(i + 1, s.last);
  const low = Math.max(s.lower[i], s.lower[j] - (s.rank[j] - k)), high = Math.min(s.upper[j], s.upper[i] + (k - s.rank[i]));
  const worst = Math.min(s.upper[s.last], low + s.n - k) + s.most, best = Math.max(s.lower[s.last], high) + s.misses;
  const square = beta * beta, y = yieldAt(s, k);
  return {
    precision_at: triple(low / k, y / k, high / k),
    recall_at: triple(worst > 0 ? low / worst : null, s.total > 0 ? y / s.total : NaN, best > 0 ? high / best : null),
    f_measure: triple((1 + square) * low / (k + square * worst), (1 + square) * y / (k + square * s.total), (1 + square) * high / (k + square * best)),
    yield_at: triple(low, y, high),
  };
}

// runs of positives: [positives at the end, rank at the end] of the list with the latest, or the earliest, positives
function runs(s, side) {
  const found = [];
  for (let i = 0; i < s.last; i++) {
    const late = side === "late";
    const y = late ? Math.floor(s.lower[i]) : Math.ceil(s.upper[i]), y2 = late ? Math.floor(s.lower[i + 1]) : Math.ceil(s.upper[i + 1]);
    if (y2 > y) found.push([y2, late ? s.rank[i + 1] : s.rank[i] + y2 - y]);
  }
  return found;
}

function rankAtPrecision(s, num) {
  const deepest = side => {
    let kept = 0;
    for (const [y, r] of runs(s, side)) if (y > kept && big(y) * DEN >= big(r) * num) kept = y;
    return Math.min(s.n, Number(big(kept) * DEN / num));
  };
  return triple(deepest("late"), estimatedDepth(s, Number(num) / 1e12), deepest("early"));
}

// over both ends of the number of misses
function rankAtRecall(s, num) {
  const few = rankAtRecallOf(s, num, s.misses), many = rankAtRecallOf(s, num, s.most), known = (a, b) => a === null ? b : a;
  return triple(known(few.lower, many.lower), estimatedReach(s, Number(num) / 1e12), known(many.upper, few.upper));
}

function rankAtRecallOf(s, num, misses) {
  const m = big(misses), n = big(s.n), most = big(Math.ceil(s.upper[s.last]));
  const floor = big(Math.floor(s.lower[s.last])), least = misses === 0 && floor < 1n ? 1n : floor;
  if (least > most) return {lower: null, upper: null};
  const wanted = found => { const j = up(num * (found + m), DEN); return j < 1n ? 1n : j; };
  const largest = (...values) => values.reduce((a, b) => a > b ? a : b);
  if (m > 0n && num === DEN) return {lower: Infinity, upper: Infinity};
  const reached = m === 0n ? least : largest(least, 1n, up(num * m, DEN - num));
  if (reached > most) return {lower: Infinity, upper: Infinity};
  const first = Number(wanted(reached));
  const [y, r] = runs(s, "early").find(([y]) => y >= first);
  const low = r - y + first;
  if (reached > least) return {lower: low, upper: Infinity};
  const late = runs(s, "late");
  let cross = least - 1n;
  for (const [y, r] of late) {
    const room = n - big(r - y), enough = down(big(y) * DEN, num) - m, both = room < enough ? room : enough;
    if (both > cross) cross = both;
  }
  if (cross > most) cross = most;
  let high = 0;
  if (cross >= least) { const j = Number(wanted(cross)), [y, r] = late.find(([y]) => y >= j); high = r - y + j; }
  if (cross < most) high = Math.max(high, Number(n - cross - 1n + wanted(cross + 1n)));
  return {lower: low, upper: high};
}

function threshold(s, k) {
  if (!s.scores) return null;
  const i = before(s.scores.rank, k);
  if (i < 0) return null;
  if (s.scores.rank[i] === k) return {lower: s.scores.score[i], estimate: s.scores.score[i], upper: s.scores.score[i]};
  if (i + 1 >= s.scores.rank.length) return null;
  const sides = [s.scores.score[i], s.scores.score[i + 1]];
  return sides[0] <= sides[1] ? {lower: sides[0], estimate: null, upper: sides[1]} : {lower: sides[1], estimate: null, upper: sides[0]};
}

const NAMES = {
  precision_at: "Precision", recall_at: "Recall", f_measure: "F1", yield_at: "Positives found",
  threshold_at: "Threshold (score)", rank_at_precision: "Deepest rank with that precision", rank_at_recall: "First rank with that recall",
};
const shown = (name, value) => value === null || value === undefined ? "unknown" : value === Infinity ? "never" : typeof value === "string" ? value
  : /rank|yield/.test(name) ? Math.round(value).toLocaleString("en") : /threshold/.test(name) ? String(Number(value.toPrecision(7))) : value > 0 && value < 0.001 ? value.toPrecision(3) : value.toFixed(4);

function picker(studies, views) {
  const opened = studies.map(open), form = document.getElementById("picker");
  if (!form) return;
  const {study, mode, value, slider} = form.elements, body = document.querySelector("#picked tbody"), said = document.getElementById("said");
  const current = () => opened[study ? Number(study.value) : 0];
  const fromSlider = () => mode.value === "rank" ? Math.round(current().n ** (slider.value / 1000)) : slider.value / 1000;
  const toSlider = number => mode.value === "rank" ? Math.round(1000 * Math.log(number) / Math.log(Math.max(current().n, 2))) : Math.round(1000 * number);

  function pick() {
    const s = current(), asked = Number(value.value), rows = {};
    let k = asked;
    const right = mode.value === "rank" ? Number.isInteger(asked) && asked >= 1 && asked <= s.n : asked > 5e-13 && asked <= 1;  // what is less is 0 of 10^12
    if (!right) { said.textContent = mode.value === "rank" ? `Give a whole number from 1 to ${s.n.toLocaleString("en")}.` : "Give a decimal above 0, up to 1."; body.replaceChildren(); return; }
    if (mode.value !== "rank" && !s.proves) { said.textContent = "Nothing is proven in this study."; body.replaceChildren(); return; }
    if (mode.value !== "rank") {
      const num = big(Math.round(asked * 1e12)), precision = mode.value === "precision";
      const found = precision ? rankAtPrecision(s, num) : rankAtRecall(s, num);
      rows[precision ? "rank_at_precision" : "rank_at_recall"] = found;
      k = precision ? found.lower : found.upper;
    }
    if (k >= 1 && k <= s.n && Number.isFinite(k)) {
      Object.assign(rows, atRank(s, k, 1));
      const score = threshold(s, k);
      if (score) rows.threshold_at = score;
      said.textContent = `Keep the first ${k.toLocaleString("en")} of ${s.n.toLocaleString("en")} items.`;
      for (const view of views) view.data("pick", [{rank: k}]).run();
    } else said.textContent = mode.value === "precision" ? "No cutoff is proven to have that precision." : "No cutoff is proven to have that recall.";
    body.replaceChildren(...Object.entries(rows).map(([name, row]) => {
      const line = document.createElement("tr"), head = document.createElement("th");
      head.scope = "row"; head.textContent = NAMES[name]; line.append(head); line.dataset.metric = name;
      for (const side of ["lower", "estimate", "upper"]) {
        const cell = document.createElement("td");
        cell.textContent = shown(name, row[side]); cell.dataset[side] = String(row[side]); line.append(cell);
      }
      return line;
    }));
  }
  const limits = () => { const ranks = mode.value === "rank"; value.step = ranks ? "1" : "any"; value.max = ranks ? current().n : 1; value.min = ranks ? 1 : 0; };
  slider.addEventListener("input", () => { value.value = fromSlider(); pick(); });
  value.addEventListener("input", () => { if (Number(value.value) > 0) slider.value = toSlider(Number(value.value)); pick(); });
  mode.addEventListener("change", () => { value.value = mode.value === "rank" ? Math.min(1000, current().n) : 0.9; limits(); slider.value = toSlider(Number(value.value)); pick(); });
  if (study) study.addEventListener("change", () => { limits(); pick(); });
  form.addEventListener("submit", event => event.preventDefault());
  value.value = Math.min(1000, current().n); limits(); slider.value = toSlider(Number(value.value)); pick();
}

(async () => {
  const views = [];
  for (const [name, spec] of Object.entries(await unzip(CHARTS))) {
    const found = await vegaEmbed("#chart-" + name, spec, {actions: false, renderer: "svg", ast: false});
    document.querySelector("#chart-" + name + " svg").setAttribute("aria-hidden", "true");  // its frame says what it is
    if (name === "precision") views.push(found.view);
  }
  picker(await unzip(STUDIES), views);
  document.documentElement.dataset.ready = "yes";
})();
