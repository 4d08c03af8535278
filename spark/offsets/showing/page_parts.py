"""Style and script of the page."""

from __future__ import annotations

from typing import Final

from trimq.spark.offsets.showing.charts import HEAT

_HEAT: Final = "".join(
    f".h{number} {{ background: {colour}; }}\n" for number, colour in enumerate(HEAT)
)
STYLE: Final = (
    """
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1200px; padding: 0 12px 40px;
  color: #1c2430; background: #fff; overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; margin: 16px 0 4px; } h2 { font-size: 1.05rem; margin: 28px 0 4px; }
.figures { display: flex; flex-wrap: wrap; gap: 8px; margin: 12px 0; }
.figures div { background: #f1f4f8; border-radius: 8px; padding: 8px 14px; }
.figures b { display: block; font-size: 1.3rem; }
.plot { width: 100%; font-size: 12px; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; white-space: nowrap; }
th, td { padding: 3px 10px; text-align: right; border-bottom: 1px solid #e3e8ee; }
th:first-child, td:first-child { text-align: left; }
.curves { display: grid; grid-template-columns: 64px 1fr; padding: 10px 24px 0 0; color: #52606d; }
.up { position: relative; height: 260px; }
.up span { position: absolute; right: 8px; white-space: nowrap; transform: translateY(50%); }
.field { position: relative; height: 260px; }
.field svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.field path { fill: none; stroke-width: 2px; stroke-linecap: round; stroke-linejoin: round;
  vector-effect: non-scaling-stroke; }
.field .line { stroke-opacity: .85; } .field .dot { stroke-width: 7px; }
.field .rule { stroke: #e3e8ee; stroke-width: 1px; }
.here { position: absolute; top: 0; bottom: 0; width: 1px; background: #52606d; display: none; }
.across { grid-column: 2; position: relative; height: 26px; }
.across span { position: absolute; top: 6px; transform: translateX(-50%); white-space: nowrap; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; padding-left: 64px; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px;
  vertical-align: -1px; }
.bars { display: grid; grid-template-columns: fit-content(45%) 1fr auto; gap: 4px 10px; align-items: center; }
.bars span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.bars i { display: block; height: 16px; min-width: 1px; background: #2563eb; border-radius: 2px; }
.bars b { font-weight: normal; white-space: nowrap; }
.heat { font-size: 12px; table-layout: auto; width: 100%; }
.heat th { font-weight: normal; max-width: 0; min-width: 40px; overflow: hidden; text-overflow: ellipsis; }
.heat thead th { text-align: left; border-left: 2px solid #fff; padding: 0 2px; }
.heat tbody th { width: 30%; min-width: 110px; padding: 0 8px 0 0; }
.heat td { padding: 0; min-width: 4px; height: 18px; border: 1px solid #fff; }
.heat td:hover { outline: 2px solid #1c2430; }
.scale { padding-top: 6px; } .scale i { display: inline-block; width: 16px; height: 10px; }
#tip { position: absolute; z-index: 1; display: none; max-width: 320px; padding: 6px 10px; font-size: 12px;
  background: #1c2430; color: #fff; border-radius: 6px; pointer-events: none; white-space: pre-line; }
"""
    + _HEAT
)
# Texts are set as texts, never as HTML: names come from a cluster.
SCRIPT: Final = """
const hints = JSON.parse(document.getElementById("hints").textContent);
const tip = document.getElementById("tip");
function tell(event, text) {
  tip.textContent = text;
  tip.style.display = "block";
  const right = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = Math.max(8, Math.min(event.pageX + 14, right)) + "px";
  tip.style.top = event.pageY + 14 + "px";
}
function follow(place, hint) {
  const field = place.querySelector(".field"), here = place.querySelector(".here");
  field.addEventListener("pointermove", event => {
    const box = field.getBoundingClientRect();
    const x = (event.clientX - box.x) / box.width;
    let near = 0;
    hint.at.forEach((at, number) => {
      if (Math.abs(at - x) < Math.abs(hint.at[near] - x)) near = number;
    });
    here.style.left = hint.at[near] * 100 + "%";
    here.style.display = "block";
    const rows = hint.rows.filter(row => row[2][near]).map(row => row[0] + ": " + row[2][near]);
    tell(event, [hint.times[near], ...rows].join("\\n"));
  });
  field.addEventListener("pointerleave", () => {
    here.style.display = tip.style.display = "none";
  });
}
function point(place, hint) {
  const table = place.querySelector("table");
  table.addEventListener("pointerover", event => {
    const cell = event.target.closest("tbody td");
    const row = cell && cell.parentNode, at = cell && cell.cellIndex - 1;
    const said = cell && hint.said[row.sectionRowIndex][at];
    if (said) tell(event, row.cells[0].textContent + "\\nqueue " + hint.places[at] + "\\n" + said);
    else tip.style.display = "none";
  });
  table.addEventListener("pointerleave", () => { tip.style.display = "none"; });
}
for (const [id, hint] of Object.entries(hints)) {
  (hint.rows ? follow : point)(document.getElementById(id), hint);
}
"""
