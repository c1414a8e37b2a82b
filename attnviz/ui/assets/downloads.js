// A figure as a file: picture, page or table, made in the browser from what is on screen.
import { cellAt, number, ofMap, shownAt } from "./cells.js";
import { withInk } from "./painter.js";

export function downloads(figure) {
  figure.back = button("Reset zoom", "Show the whole picture again", () => reset(figure));
  figure.back.hidden = true;
  figure.tools.append(
    figure.back,
    button("PNG", "Download as a PNG picture", () => picture(figure, "png")),
    button("SVG", "Download as an SVG drawing", () => picture(figure, "svg")),
    button("HTML", "Download as a page that works without a connection", () => page(figure)),
    button("CSV", "Download the numbers as a table", () => save(figure, "csv", table(figure), "text/csv")),
  );
}

function button(text, title, act) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: text, title, onclick: act });
  made.setAttribute("aria-label", title);
  return made;
}

function reset(figure) {
  const { xaxis, yaxis } = figure.layout;
  const home = ({ range }) => (range ? { range: [...range] } : { autorange: true });
  const [x, y] = [home(xaxis), home(yaxis)];
  const change = (name, to) => (to.range ? { [`${name}.range`]: to.range } : { [`${name}.autorange`]: true });
  window.Plotly.relayout(figure.plot, { ...change("xaxis", x), ...change("yaxis", y) });
}

function save(figure, ending, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = `attnviz-${figure.header.name}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function escaped(text) {
  return text.replace(/[&<>$]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function printable(figure) {
  const { data, layout } = figure;
  const zoom = figure.plot.layout;
  const background = getComputedStyle(figure.box).getPropertyValue("--st-background-color").trim() || "#ffffff";
  const margin = { ...layout.margin, t: (layout.margin?.t ?? 0) + 44, b: (layout.margin?.b ?? 0) + 8, l: 16, r: 16 };
  const title = { text: escaped(figure.header.title), x: 0.01, xanchor: "left", y: 0.985, yanchor: "top", font: { size: 16 } };
  const xaxis = { ...layout.xaxis, ...(zoom.xaxis.range && { range: zoom.xaxis.range }) };
  const yaxis = { ...layout.yaxis, range: zoom.yaxis.range };
  const width = Math.max(figure.width, 640);
  // Labels and the colour bar take at most so many pixels of it.
  const cell = xaxis.range && (width - 200) / Math.abs(xaxis.range[1] - xaxis.range[0]);
  return { data: withInk(data, cell), layout: { ...layout, xaxis, yaxis, margin, title, paper_bgcolor: background, width, height: figure.place.height + 110 } };
}

async function picture(figure, format) {
  const shown = printable(figure);
  const { width, height } = shown.layout;
  const url = await window.Plotly.toImage(shown, { format, width, height, scale: 3 });
  const blob = await (await fetch(url)).blob();
  save(figure, format, blob, blob.type);
}

async function page(figure) {
  const source = await (await fetch(figure.library)).text();
  const { data, layout } = printable(figure);
  const plain = data.map((trace) => (trace.type === "heatmap" ? { ...trace, ...told(figure, trace) } : trace));
  const json = JSON.stringify({ data: plain, layout }, (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value)).replace(/</g, "\\u003c");
  const words = (text) => `<p>${escaped(text)}</p>`;
  const html = `<!doctype html><meta charset="utf-8"><title>${escaped(figure.header.title)}</title><script>${source}</script><body style="font-family:sans-serif;background:${layout.paper_bgcolor};color:${layout.font.color}">${words(figure.header.answer)}<div id="figure" role="img" aria-label="${escaped(figure.header.alt).replace(/"/g, "&quot;")}"></div>${words(figure.header.caption)}<script>const f=${json};Plotly.newPlot("figure",f.data,f.layout)</script>`;
  save(figure, "html", html, "text/html");
}

// What a saved page says of a cell: the number drawn, or in words what a view makes of it.
function told({ cells }, trace) {
  const form = (what) => ({ hoverinfo: "all", hovertemplate: `query %{y}, key %{x}: ${what}<extra></extra>` });
  if (!cells || (!cells.behind && !cells.names?.length && (cells.hidden_from ?? null) === null)) return form("%{z:.4f}");
  const words = ({ number: drawn, without, behind, kind }) => (drawn === null ? without : kind ? `${cells.value} ${kind}` : `${cells.behind || cells.value} ${number(behind ?? drawn, 4)}`);
  return { ...form("%{text}"), texttemplate: "", text: trace.z.map((values, i) => Array.from(values, (value, j) => (Number.isNaN(value) ? "" : words(shownAt(cells, trace, [i, j]))))) };
}

function quoted(value) {
  const text = typeof value === "number" ? (Number.isNaN(value) ? "" : String(Number(value.toPrecision(7)))) : String(value ?? "");
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function table(figure) {
  const rows = figure.cells ? cellRows(figure) : traceRows(figure);
  return `${rows.map((row) => row.map(quoted).join(",")).join("\n")}\n`;
}

function cellRows(figure) {
  const { cells } = figure;
  const [row, column] = [cells.row_name || "row", cells.column_name || "column"];
  const hides = (cells.hidden_from ?? null) !== null;
  const names = [...(cells.behind && cells.behind !== cells.value ? [cells.behind] : []), cells.value].map((name) => name.replaceAll(" ", "_"));
  const out = [[cells.map_name || "map", row, `last_${row}`, `${row}_label`, column, `last_${column}`, `${column}_label`, ...names, "allowed", ...(hides ? ["hidden"] : [])]];
  const seen = new Set();
  figure.data[0].z.forEach((values, i) =>
    values.forEach((value, j) => {
      const cell = Number.isNaN(value) ? null : cellAt(cells, [i, j]);
      const name = cell && `${cell.map}/${cell.row}/${cell.column}`;
      if (!cell || seen.has(name)) return;
      seen.add(name);
      const shown = shownAt(cells, figure.data[0], [i, j]);
      const own = ofMap(cells, cell.map);
      const map = cells.map_name ? cell.head ?? "" : cell.role;
      out.push([map, cell.row, cell.lastRow, own.rows[cell.row], cell.column, cell.lastColumn, own.columns[cell.column], ...numbers(shown, own, names.length), shown.number !== null || shown.hidden ? 1 : 0, ...(hides ? [shown.hidden ? 1 : 0] : [])]);
    }),
  );
  return out;
}

// A cell that is forbidden has 0, one that is hidden or undefined no number.
function numbers(shown, cells, count) {
  if (shown.kind) return [shown.kind];
  if (shown.number === null) return Array(count).fill(shown.without.startsWith("forbidden") && !shown.hidden ? 0 : "");
  return (cells.behind ? [shown.behind, shown.number].slice(0, count) : [shown.number]).map((value) => value * cells.times);
}

function traceRows(figure) {
  const { data, layout } = figure;
  const axisName = (axis) => axis?.title?.text?.replaceAll(" ", "_") ?? "";
  const out = [["series", axisName(layout.xaxis) || "x", axisName(layout.yaxis) || "y", "label"]];
  const labels = layout.meta?.ticks?.y ?? [];
  for (const trace of data) for (let i = 0; i < trace.x.length; i++) if (!Number.isNaN(trace.x[i])) out.push([trace.name, trace.x[i], trace.y[i], labels[trace.y[i]] ?? ""]);
  return out;
}
