// Draws a Plotly figure that arrives as bytes, and keeps the plot mounted while its data change.
import { nameOf, cellAt, shownAt } from "./cells.js";
import { downloads } from "./downloads.js";
import { arrange, bare, bareData, label, legend } from "./furniture.js";
import { paint } from "./painter.js";

const ARRAYS = { u1: Uint8Array, f4: Float32Array, f8: Float64Array, i4: Int32Array, i1: Int8Array, i2: Int16Array, u2: Uint16Array, u4: Uint32Array };
const CONFIG = { displayModeBar: false, responsive: false, doubleClick: "reset", showTips: false };
const MISSING = 255;
// A picture that is painted already is handed over to Plotly when changes pause for so many milliseconds.
const PAUSE = 100;
const figures = new WeakMap();

export function show(component, { library }) {
  const { data, parentElement } = component;
  let figure = figures.get(parentElement);
  if (!figure) figures.set(parentElement, (figure = mount(parentElement)));
  Object.assign(figure, { component, library });
  figure.close ??= () => close(figure);
  const dark = isDark(parentElement);
  if (figure.bytes && figure.dark === dark && same(figure.bytes, data)) return figure.close;
  const bytes = data.slice();
  Object.assign(figure, { bytes, dark, ...split(bytes) });
  write(figure, figure.header);
  if (!figure.turn) figure.stage.style.minHeight = `${figure.header.figure.layout.height}px`;
  figure.due = true;
  if (figure.seen) draw(figure);
  return figure.close;
}

function mount(parent) {
  const box = element("figure", "av-figure");
  const figure = {
    box,
    title: element("h3", ""),
    answer: element("p", "av-answer"),
    legend: element("div", "av-legend"),
    stage: element("div", "av-stage"),
    canvas: element("canvas", "av-canvas"),
    small: document.createElement("canvas"),
    plot: element("div", "av-plot"),
    labels: element("div", "av-labels"),
    tip: element("div", "av-tip"),
    caption: element("span", "av-caption"),
    tools: element("span", "av-tools"),
    drawn: false,
    turn: 0,
    seen: false,
    due: false,
    width: 0,
  };
  const note = element("figcaption", "");
  note.append(figure.caption, figure.tools);
  figure.tip.hidden = true;
  figure.plot.setAttribute("role", "img");
  figure.stage.append(figure.canvas, figure.plot, figure.labels);
  box.append(figure.title, figure.answer, figure.legend, figure.stage, figure.tip, note);
  parent.append(box);
  figure.resize = new ResizeObserver(([entry]) => fit(figure, Math.round(entry.contentRect.width)));
  figure.resize.observe(figure.stage);
  // A picture that is out of sight is drawn when it comes near.
  figure.sight = new IntersectionObserver((entries) => look(figure, entries.at(-1).isIntersecting), { rootMargin: "150px" });
  figure.sight.observe(box);
  return figure;
}

function look(figure, seen) {
  figure.seen = seen;
  if (seen && figure.due) draw(figure);
}

function element(name, className) {
  const made = document.createElement(name);
  made.className = className;
  return made;
}

function write(figure, header) {
  for (const part of ["title", "answer", "caption"]) {
    figure[part].textContent = header[part];
    figure[part].hidden = !header[part];
  }
  figure.plot.setAttribute("aria-label", header.alt);
  figure.box.dataset.figure = header.name;
}

function close(figure) {
  figure.turn++;
  figure.resize.disconnect();
  figure.sight.disconnect();
  if (window.Plotly && figure.drawn) window.Plotly.purge(figure.plot);
}

function fit(figure, width) {
  if (!width || width === figure.width) return;
  figure.width = width;
  if (figure.drawn) figure.due = true;
  if (figure.due && figure.seen) draw(figure);
}

function split(bytes) {
  const size = new DataView(bytes.buffer).getUint32(0, true);
  return { header: JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size))), body: bytes.buffer.slice(4 + size) };
}

function same(a, b) {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

// Asked by every figure in turn, and each answer makes the browser work out all styles: kept for the current task.
function isDark(node) {
  if (isDark.known === undefined) {
    const colour = getComputedStyle(node).getPropertyValue("--st-background-color").trim();
    const canvas = (isDark.canvas ??= document.createElement("canvas").getContext("2d"));
    canvas.fillStyle = colour || "#ffffff";
    const [red, green, blue] = canvas.fillStyle.match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
    isDark.known = 0.299 * red + 0.587 * green + 0.114 * blue < 128;
    setTimeout(() => (isDark.known = undefined));
  }
  return isDark.known;
}

function revive(value, body, colours) {
  if (typeof value === "string") return colours?.[value] ?? value;
  if (Array.isArray(value)) return value.map((item) => revive(item, body, colours));
  if (value === null || typeof value !== "object") return value;
  if (value.$array) return array(value.$array, body);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revive(item, body, colours)]));
}

function array({ at, type, shape, low, high }, body) {
  const size = shape.reduce((product, length) => product * length, 1);
  let flat = new ARRAYS[type](body, at, size);
  if (low !== undefined) flat = unquantised(flat, low, high);
  if (shape.length === 1) return flat;
  const rows = [];
  for (let row = 0; row < shape[0]; row++) rows.push(flat.subarray(row * shape[1], (row + 1) * shape[1]));
  return rows;
}

function unquantised(levels, low, high) {
  const table = Float32Array.from({ length: 256 }, (_, level) => (level === MISSING ? NaN : low + ((high - low) * level) / (MISSING - 1)));
  return Float32Array.from(levels, (level) => table[level]);
}

function plotly(address) {
  plotly.loaded ??= new Promise((onload, onerror) => {
    const load = () => document.head.append(Object.assign(document.createElement("script"), { src: address, onload, onerror }));
    // Running plotly.js takes long: what is painted already is shown first.
    requestAnimationFrame(() => setTimeout(load));
  });
  return plotly.loaded;
}

async function draw(figure) {
  const turn = ++figure.turn;
  figure.due = false;
  const canPaint = compose(figure);
  rename(figure);
  if (canPaint) {
    paint(figure.canvas, figure.small, figure.data[0], figure.layout, figure.place, ranges(figure));
    figure.stage.classList.add("av-ahead");
    count(figure, "painted");
    relabel(figure);
    if (figure.drawn) await new Promise((resume) => setTimeout(resume, PAUSE));
  }
  try {
    await plotly(figure.library);
  } catch {
    figure.component.setStateValue("failed", true);
    return;
  }
  if (figure.turn !== turn) return;
  await window.Plotly.react(figure.plot, bareData(figure.data, figure.place, figure.layout), bare(figure.layout, figure.place, figure.width), CONFIG);
  if (!figure.drawn) {
    figure.drawn = true;
    listen(figure);
    downloads(figure);
  }
  figure.stage.classList.remove("av-ahead");
  if (!canPaint) count(figure, "painted");
  relabel(figure);
  count(figure, "drawn");
}

// What a figure needs to be painted or drawn; gives whether it can be painted without Plotly.
function compose(figure) {
  const { header, body, dark, cells: old, data: [before] = [] } = figure;
  const { data, layout } = revive(header.figure, body, dark ? header.dark : null);
  const { cells, ticks } = layout.meta ?? {};
  if (cells) for (const side of ["rows", "columns"]) cells[side] = spelt(cells[side]);
  if (ticks) for (const side of ["x", "y", "right"]) ticks[side] = spelt(ticks[side]);
  const width = (figure.width ||= figure.stage.clientWidth);
  const place = arrange(layout, width, (figure.family ??= getComputedStyle(figure.box).fontFamily));
  Object.assign(figure, { data, layout, place, cells, quantised: header.quantised });
  figure.plot.classList.toggle("av-clickable", Boolean(figure.cells?.click) || data.some((trace) => trace.meta?.click));
  figure.stage.style.minHeight = `${place.height}px`;
  figure.stage.classList.toggle("av-narrow", width < 460);
  tellFit(figure);
  legend(figure.legend, data, layout);
  if (data[0].type !== "heatmap") return false;
  const isAsBefore = old && ["rows", "columns", "heads"].every((part) => old[part].length === figure.cells[part].length);
  return !figure.drawn || Boolean(isAsBefore && before.z.length === data[0].z.length && before.z[0].length === data[0].z[0].length);
}

// Labels one by one; many numbered ones come as their letter and their count.
function spelt(labels) {
  if (!labels?.letter) return labels;
  const key = `${labels.letter}${labels.count}`;
  spelt.known ??= new Map();
  if (!spelt.known.has(key)) {
    const all = Array.from({ length: labels.count }, (_, place) => `${labels.letter}${place}`);
    spelt.known.set(key, Object.assign(all, { numbered: true, toJSON: () => key }));
  }
  return spelt.known.get(key);
}

function count(figure, what) {
  figure.plot.dataset[what] = String(Number(figure.plot.dataset[what] ?? 0) + 1);
}

// The ranges of the axes: where the reader has zoomed to, else those of the whole picture.
function ranges({ drawn, plot, layout }) {
  const { xaxis, yaxis } = drawn ? plot.layout : layout;
  return { x: [...(xaxis.range ?? [0, 1])], y: [...yaxis.range] };
}

function relabel(figure) {
  label(figure.labels, figure.layout, figure.place, ranges(figure), figure.data);
}

// How many maps fit side by side decides how the grid of heads is laid out; 8 is what the server takes for granted.
function tellFit(figure) {
  if (!figure.cells || (figure.cells.click !== "head" && figure.cells.heads.length < 2)) return;
  const fit = Math.max(2, Math.min(8, Math.floor(figure.width / (figure.width < 560 ? 80 : 112))));
  if (fit !== (figure.fit ?? 8)) figure.component.setStateValue("fit", fit);
  figure.fit = fit;
}

function listen(figure) {
  const { plot } = figure;
  plot.on("plotly_hover", ({ points, event }) => tell(figure, points[0], event));
  plot.on("plotly_unhover", () => (figure.tip.hidden = true));
  plot.on("plotly_click", ({ points }) => choose(figure, points[0]));
  plot.on("plotly_relayout", (change) => zoomed(figure, change));
}

function place(figure, point) {
  return figure.cells && Array.isArray(point?.pointIndex ?? point?.pointNumber) ? cellAt(figure.cells, point.pointIndex ?? point.pointNumber) : null;
}

function tell(figure, point, event) {
  const cell = place(figure, point);
  figure.tip.hidden = !cell;
  if (!cell) return;
  figure.under = point.pointIndex ?? point.pointNumber;
  name(figure, cell);
  const box = figure.box.getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  const left = x + figure.tip.offsetWidth + 18 > box.width ? x - figure.tip.offsetWidth - 14 : x + 14;
  Object.assign(figure.tip.style, { left: `${Math.max(0, left)}px`, top: `${Math.max(0, y - figure.tip.offsetHeight - 10)}px` });
}

function name(figure, cell) {
  figure.tip.replaceChildren(...nameOf(figure.cells, cell, shownAt(figure.cells, figure.data[0], figure.under), figure.quantised));
}

// What is said of the cell under the pointer follows the data.
function rename(figure) {
  if (figure.tip.hidden) return;
  const cell = figure.cells && figure.data[0].z[figure.under[0]]?.[figure.under[1]] !== undefined && cellAt(figure.cells, figure.under);
  if (cell) name(figure, cell);
  else figure.tip.hidden = true;
}

function choose(figure, point) {
  const field = point?.data?.meta?.click;
  if (field) return figure.component.setTriggerValue("click", { [field]: point.pointNumber });
  const cell = place(figure, point);
  const kind = figure.cells?.click;
  if (!cell || !kind) return;
  if (kind === "head") figure.component.setTriggerValue("click", { head: cell.head });
  else if (kind === "cell") figure.component.setTriggerValue("click", { query: cell.row, key: cell.column });
  else figure.component.setTriggerValue("click", { head: cell.row });
}

function zoomed(figure, change) {
  if (!Object.keys(change).some((name) => /^[xy]axis\.(range|autorange)/.test(name))) return;
  relabel(figure);
  const { xaxis, yaxis } = figure.plot.layout;
  const isAt = (axis, home) => !home || axis.range.every((edge, i) => Math.abs(edge - home[i]) < 1e-6);
  const isHome = isAt(xaxis, figure.layout.xaxis.range) && isAt(yaxis, figure.layout.yaxis.range);
  figure.back.hidden = isHome;
  if (!figure.cells?.zoom) return;
  clearTimeout(figure.zoom);
  const sides = [...yaxis.range].sort((a, b) => a - b).concat([...xaxis.range].sort((a, b) => a - b));
  const window = isHome ? null : [...sides.map((edge) => edge + 0.5), figure.cells.rows.length, figure.cells.columns.length];
  figure.zoom = setTimeout(() => figure.component.setStateValue("window", window), 200);
}
