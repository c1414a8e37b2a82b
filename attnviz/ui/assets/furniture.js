// Margins, tick labels, axis titles and legends of a live figure, as HTML around a bare plot.
// Plotly measures and draws these anew with every change of the data, which costs more than the data do.

import { withInk } from "./painter.js";

const FONT = "11px";
const ROW_PITCH = 13;
const SLANTED_PITCH = 17;
const SIZES = { top: 6, right: 12, tick: 6, title: 22, number: 20, numbers: 34 };
const canvas = document.createElement("canvas").getContext("2d");

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Of many numbered labels the last are the longest.
function widest(labels, family) {
  canvas.font = `${FONT} ${family}`;
  return (labels.numbered ? labels.slice(-10) : labels).reduce((most, label) => Math.max(most, 1.03 * canvas.measureText(label).width), 0);
}

// Sizes of the plot area for a width: `left`, `top`, `wide`, `high`, whether column labels are `slanted`, and the whole height.
export function arrange(layout, width, family) {
  const ticks = layout.meta?.ticks ?? {};
  const { xaxis, yaxis } = layout;
  const left = (ticks.y ? widest(ticks.y, family) + SIZES.tick : yaxis.showticklabels === false ? 4 : SIZES.numbers) + SIZES.title;
  const right = ticks.right ? widest(ticks.right, family) + SIZES.tick + SIZES.title : SIZES.right;
  const room = Math.max(40, width - left - right);
  const square = yaxis.scaleanchor === "x";
  const aspect = Math.abs(yaxis.range[1] - yaxis.range[0]) / Math.abs((xaxis.range?.[1] ?? 1) - (xaxis.range?.[0] ?? 0));
  const longest = ticks.x ? widest(ticks.x, family) : 0;
  const guess = square ? Math.min(room, (layout.height - 60) / aspect) : room;
  const slanted = Boolean(ticks.x) && longest + 8 > guess / ticks.x.length;
  const labels = ticks.x ? (slanted ? Math.min(longest, 90) * 0.72 + 14 : 16) : xaxis.showticklabels === false ? 2 : SIZES.number;
  const below = labels + SIZES.title;
  const most = layout.height - SIZES.top - below;
  const wide = square ? Math.min(room, most / aspect) : room;
  const high = square ? wide * aspect : most;
  return { left, top: SIZES.top, wide, high, below, labels, slanted, height: Math.round(high + SIZES.top + below) };
}

// The layout that Plotly draws: the plot area alone, at a fixed place.
export function bare(layout, place, width) {
  const axis = (own, hasLabels) => {
    const { scaleanchor, constrain, constraintoward, automargin, title, ...rest } = own;
    // Plotly writes a zoom into the range it was given.
    const range = own.range && [...own.range];
    return { ...rest, range, showticklabels: !hasLabels && own.showticklabels !== false };
  };
  const ticks = layout.meta?.ticks ?? {};
  return {
    ...layout,
    width,
    height: place.height,
    showlegend: false,
    annotations: layout.annotations?.filter(({ name }) => name !== "badge"),
    margin: { l: place.left, r: width - place.left - place.wide, t: place.top, b: place.below, autoexpand: false },
    xaxis: axis(layout.xaxis, ticks.x),
    yaxis: axis(layout.yaxis, ticks.y),
    ...(layout.yaxis2 && { yaxis2: axis(layout.yaxis2, ticks.right) }),
  };
}

export function bareData(data, { wide }, { xaxis: { range } }) {
  const drawn = data.filter((trace) => trace.mode !== "text");
  return withInk(drawn, range && wide / Math.abs(range[1] - range[0])).map((trace) => (trace.type === "heatmap" ? { ...trace, showscale: false } : trace));
}

// Labels and titles around the plot area; drawn anew only where something about them has changed.
export function label(box, layout, place, ranges, data) {
  const ticks = layout.meta?.ticks ?? {};
  const words = data.find((trace) => trace.mode === "text");
  const key = JSON.stringify([ticks, place, ranges, layout.xaxis.title?.text, layout.yaxis.title?.text, words && [...words.x, ...words.y], words?.text, words?.textposition]);
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  const parts = [];
  if (ticks.y) parts.push(...rowLabels(ticks, place, ranges.y));
  if (ticks.right) parts.push(...rightLabels(ticks.right, place, ranges.y));
  if (ticks.x) parts.push(...columnLabels(ticks, place, ranges.x));
  if (words) parts.push(...texts(words, place, ranges));
  parts.push(...titles(layout, place));
  box.replaceChildren(...parts);
}

function shown(labels, [from, to], size, pitch) {
  const first = Math.max(0, Math.ceil(Math.min(from, to)));
  const last = Math.min(labels.length - 1, Math.floor(Math.max(from, to)));
  const cell = size / Math.abs(to - from);
  const least = Math.max(1, Math.ceil(pitch / cell));
  const step = labels.numbered ? round(least) : least;
  const places = [];
  for (let i = Math.ceil(first / step) * step; i <= last; i += step) places.push([i, ((i - from) / (to - from)) * size]);
  return places;
}

// The next of 1, 2, 5, 10, 20, 50...
function round(step) {
  const ten = 10 ** Math.floor(Math.log10(step));
  return ten * [1, 2, 5, 10].find((times) => times * ten >= step);
}

function rowLabels(ticks, place, range) {
  return shown(ticks.y, [range[1], range[0]], place.high, ROW_PITCH).map(([i, at]) => {
    const made = element("span", i === ticks.strong ? "av-row av-strong" : "av-row", ticks.y[i]);
    Object.assign(made.style, { top: `${place.top + at}px`, width: `${place.left - SIZES.tick}px` });
    return made;
  });
}

function rightLabels(labels, place, range) {
  return shown(labels, [range[1], range[0]], place.high, ROW_PITCH).map(([i, at]) => {
    const made = element("span", "av-row av-right", labels[i]);
    Object.assign(made.style, { top: `${place.top + at}px`, left: `${place.left + place.wide + SIZES.tick}px` });
    return made;
  });
}

function columnLabels(ticks, place, range) {
  const pitch = place.slanted ? SLANTED_PITCH : 8;
  return shown(ticks.x, range, place.wide, pitch).map(([i, at]) => {
    const made = element("span", place.slanted ? "av-column av-slanted" : "av-column", ticks.x[i]);
    Object.assign(made.style, { left: `${place.left + at}px`, top: `${place.top + place.high + 3}px` });
    return made;
  });
}

// The texts of a trace of words, where their places are in sight; of those that are to stand apart the later give way.
function texts({ x, y, text, textposition, meta }, place, ranges) {
  const made = [];
  const taken = [];
  canvas.font = `bold ${FONT} sans-serif`;
  text.forEach((markup, i) => {
    const across = (x[i] - ranges.x[0]) / (ranges.x[1] - ranges.x[0]);
    const down = (y[i] - ranges.y[1]) / (ranges.y[0] - ranges.y[1]);
    if (across < 0 || across >= 1 || down < 0 || down >= 1) return;
    const words = new DOMParser().parseFromString(markup, "text/html").body.textContent;
    const [up, side] = (Array.isArray(textposition) ? textposition[i] : (textposition ?? "middle right")).split(" ");
    const [left, top] = [place.left + across * place.wide, place.top + down * place.high];
    const back = { left: 1, center: 0.5, right: 0 }[side];
    const raised = { top: 1, middle: 0.5, bottom: 0 }[up];
    if (meta?.apart) {
      const wide = canvas.measureText(words).width;
      const box = [left - back * wide, left + (1 - back) * wide, top - raised * ROW_PITCH, top + (1 - raised) * ROW_PITCH];
      if (taken.some((other) => box[0] < other[1] && other[0] < box[1] && box[2] < other[3] && other[2] < box[3])) return;
      taken.push(box);
    }
    const [first, ...rest] = words.split(" ");
    const one = element("span", "av-text");
    one.append(element("b", "", first), rest.length ? ` ${rest.join(" ")}` : "");
    Object.assign(one.style, { left: `${left}px`, top: `${top}px`, transform: `translate(${-100 * back}%, ${-100 * raised}%)` });
    made.push(one);
  });
  return made;
}

function titles(layout, place) {
  const made = [];
  if (layout.xaxis.title?.text) {
    const x = element("span", "av-title-x", layout.xaxis.title.text);
    Object.assign(x.style, { left: `${place.left}px`, width: `${place.wide}px`, top: `${place.top + place.high + place.labels}px` });
    made.push(x);
  }
  if (layout.yaxis.title?.text) {
    const y = element("span", "av-title-y", layout.yaxis.title.text);
    Object.assign(y.style, { top: `${place.top}px`, height: `${place.high}px` });
    made.push(y);
  }
  if (layout.yaxis2?.title?.text) {
    const right = element("span", "av-title-y av-right", layout.yaxis2.title.text);
    Object.assign(right.style, { top: `${place.top}px`, height: `${place.high}px` });
    made.push(right);
  }
  return made;
}

// The legend: for a heatmap its colour scale with the range written out, else the series by name.
export function legend(box, data, layout) {
  const heatmap = data.find((trace) => trace.type === "heatmap");
  const series = layout.showlegend ? data.filter((trace) => trace.name && trace.showlegend !== false) : [];
  const badge = layout.meta?.badge;
  const key = JSON.stringify([badge, heatmap ? [heatmap.colorscale, heatmap.colorbar?.ticktext, heatmap.colorbar?.title] : series.map((trace) => [trace.name, colour(trace)])]);
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  box.replaceChildren(...(badge ? [element("span", "av-badge", badge)] : []), ...(heatmap ? scale(heatmap) : series.map(sample)));
}

function patch(hue, text) {
  const made = element("span", "av-patch");
  made.style.background = hue;
  return [made, element("span", "", text)];
}

function scale({ colorscale, zmin, zmax, colorbar }) {
  // Without a title the colours are names, not a range.
  if (!colorbar.title.text) {
    const hue = (value) => colorscale.findLast(([place]) => place <= (value - zmin) / (zmax - zmin) + 1e-9)[1];
    return colorbar.ticktext.map((text, i) => {
      const one = element("span", "av-series");
      one.append(...patch(hue(colorbar.tickvals[i]), text));
      return one;
    });
  }
  // Ticks without a number come first, each with a flat colour; then a piece of the scale for each two numbers.
  const names = colorbar.ticktext.filter((text) => /^\p{L}/u.test(text));
  const [ticks, texts] = [colorbar.tickvals.slice(names.length), colorbar.ticktext.slice(names.length)];
  const share = (value) => (value - zmin) / (zmax - zmin);
  const inside = colorscale.filter(([place]) => place >= share(ticks[0]) - 1e-9);
  const pieces = ticks.length > 3 ? ticks.map((_, i) => i) : [0, ticks.length - 1];
  const [kind, parts] = [pieces.length > 2 ? "av-bar av-piece" : "av-bar", [element("span", "", colorbar.title.text.replace(/<br>/g, " "))]];
  const piece = (background, text) => {
    const [made, bar] = [element("span", "av-step"), element("span", kind)];
    bar.style.background = background;
    made.append(bar, element("span", "av-number", text));
    parts.push(made);
  };
  // Of several pieces each has the number that it ends at right after it, the first is the colour of the least.
  if (pieces.length > 2) piece(inside[0][1], texts[0]);
  else parts.push(element("span", "av-number", texts[0]));
  pieces.slice(1).forEach((to, i) => {
    const [from, end] = [share(ticks[pieces[i]]), share(ticks[to])];
    piece(`linear-gradient(to right, ${inside.map(([place, hue]) => `${hue} ${(100 * (place - from)) / (end - from)}%`).join(", ")})`, texts[to]);
  });
  const whole = element("span", "av-scale");
  whole.append(...parts);
  return [whole, ...names.flatMap((name, i) => patch(colorscale[2 * i][1], name))];
}

function colour(trace) {
  const hue = trace.marker?.color ?? trace.line?.color;
  return Array.isArray(hue) ? null : hue;
}

function sample(trace) {
  const made = element("span", "av-series");
  const mark = element("span", trace.mode === "lines" ? "av-line" : trace.marker?.symbol?.startsWith("line") ? "av-stroke" : "av-dot");
  mark.style.background = colour(trace) ?? "currentcolor";
  if (trace.mode === "lines") mark.style.height = `${trace.line.width}px`;
  made.append(mark, trace.name);
  return made;
}
