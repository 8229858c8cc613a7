// Runs after a report: asks its picker (ASKED), looks for trouble, and leaves what it saw in an element `found`.
(async () => {
  for (let i = 0; i < 200 && !document.documentElement.dataset.ready; i++) await new Promise(done => setTimeout(done, 20));
  const {mode, value, slider} = document.getElementById("picker").elements, picked = [];
  const look = (asked, by) => picked.push({asked, by, said: document.getElementById("said").textContent, rows: Object.fromEntries(
    [...document.querySelectorAll("#picked tbody tr")].map(row => [row.dataset.metric, Object.fromEntries(
      [...row.querySelectorAll("td")].map(cell => Object.entries({...cell.dataset})[0]))]))});
  for (const [by, asked] of ASKED) {
    if (![...mode.options].some(option => option.value === by)) continue;
    mode.value = by; mode.dispatchEvent(new Event("change"));
    value.value = asked; value.dispatchEvent(new Event("input"));
    look(asked, by);
  }
  mode.value = "rank"; mode.dispatchEvent(new Event("change"));
  const before = value.value; slider.value = 700; slider.dispatchEvent(new Event("input"));
  const charts = [...document.querySelectorAll(".chart")].map(one => one.querySelectorAll("svg path").length);
  const picker = document.getElementById("picked").parentElement;
  const found = {trouble, hidden: picker.scrollWidth - picker.clientWidth, picked, slid: before !== value.value, charts, requests: performance.getEntriesByType("resource").length,
    overflow: document.documentElement.scrollWidth - innerWidth, colour: getComputedStyle(document.body).backgroundColor};
  if (window.axe) found.axe = (await axe.run()).violations.map(one => [one.impact, one.id, one.nodes[0].html]);
  const pre = document.createElement("pre"); pre.id = "found"; pre.textContent = JSON.stringify(found); document.body.append(pre);
})();
