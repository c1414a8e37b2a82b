// Paints a heatmap and the frames on it at once, below the plot that Plotly draws a moment later.

// Every level of a quantised map, and 0 where cells are forbidden, falls on a colour of its own.
const LEVELS = 4 * 254;
// Pixels that a digit takes at most.
const DIGIT = 6;
const tables = new Map();
const measure = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

function channels(colour) {
  measure.fillStyle = colour;
  return measure.fillStyle.match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
}

function tableOf(colorscale) {
  const key = colorscale.flat().join();
  if (!tables.has(key)) {
    const stops = colorscale.map(([place, colour]) => [place * LEVELS, channels(colour)]);
    const table = new Uint8Array(4 * (LEVELS + 1));
    for (let level = 0, next = 1; level <= LEVELS; level++) {
      while (next < stops.length - 1 && stops[next][0] < level) next++;
      const [[from, low], [to, high]] = [stops[next - 1], stops[next]];
      const share = Math.min(1, Math.max(0, (level - from) / (to - from)));
      for (let i = 0; i < 3; i++) table[4 * level + i] = Math.round(low[i] + share * (high[i] - low[i]));
      table[4 * level + 3] = 255;
    }
    tables.set(key, new Uint32Array(table.buffer));
  }
  return tables.get(key);
}

function bitmap(small, { z, zmin, zmax, colorscale }) {
  const [height, width] = [z.length, z[0].length];
  if (small.width !== width || small.height !== height) Object.assign(small, { width, height });
  const context = small.getContext("2d");
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const table = tableOf(colorscale);
  const factor = LEVELS / (zmax - zmin);
  for (let row = 0, at = 0; row < height; row++) {
    const values = z[row];
    for (let column = 0; column < width; column++, at++) {
      const value = values[column];
      if (value === value) pixels[at] = table[Math.min(LEVELS, Math.max(0, Math.round((value - zmin) * factor)))];
    }
  }
  context.putImageData(image, 0, 0);
}

function luminance(pixel) {
  const linear = [0, 8, 16].map((shift) => ((pixel >> shift) & 255) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

// Series in which the numbers in the cells of heatmaps are words of their own: each black or white, whichever has the
// larger contrast to its cell, which is never below 4.5 to 1; Plotly's own grey has less. None where they do not fit
// into cells of this width.
export function withInk(data, width) {
  return data.flatMap((trace) => (trace.texttemplate ? [{ ...trace, text: undefined, texttemplate: "" }, ...inked(trace, width)] : [trace]));
}

function inked({ z, zmin, zmax, colorscale, text, x0 = 0, dx = 1, y0 = 0, dy = 1 }, width) {
  if (Math.max(...text.flat().map((word) => word.length)) * DIGIT + 2 > width * dx) return [];
  const table = tableOf(colorscale);
  const groups = { "#000000": { x: [], y: [], text: [] }, "#ffffff": { x: [], y: [], text: [] } };
  text.forEach((words, row) =>
    words.forEach((word, column) => {
      if (!word) return;
      const level = Math.round(((z[row][column] - zmin) / (zmax - zmin)) * LEVELS);
      const group = groups[(luminance(table[Math.min(LEVELS, Math.max(0, level))]) + 0.05) ** 2 > 1.05 * 0.05 ? "#000000" : "#ffffff"];
      group.x.push(x0 + column * dx);
      group.y.push(y0 + row * dy);
      group.text.push(word);
    }),
  );
  return Object.entries(groups).map(([color, group]) => ({ type: "scatter", mode: "text", name: "numbers", ...group, textfont: { size: 11, color }, hoverinfo: "skip", showlegend: false }));
}

function outline(shape) {
  if (shape.type === "path") return new Path2D(shape.path);
  const made = new Path2D();
  made.rect(shape.x0, shape.y0, shape.x1 - shape.x0, shape.y1 - shape.y0);
  return made;
}

// `ranges` are those of the axes now, `y` from bottom to top.
export function paint(canvas, small, heatmap, layout, place, ranges) {
  bitmap(small, heatmap);
  const dots = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(place.wide * dots), Math.round(place.high * dots)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  Object.assign(canvas.style, { left: `${place.left}px`, top: `${place.top}px`, width: `${place.wide}px`, height: `${place.high}px` });
  const scaleX = width / (ranges.x[1] - ranges.x[0]);
  const scaleY = height / (ranges.y[0] - ranges.y[1]);
  const x = (value) => (value - ranges.x[0]) * scaleX;
  const y = (value) => (value - ranges.y[1]) * scaleY;
  const { x0 = 0, dx = 1, y0 = 0, dy = 1, z } = heatmap;
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, width, height);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, x(x0 - dx / 2), y(y0 - dy / 2), z[0].length * dx * scaleX, z.length * dy * scaleY);
  const matrix = new DOMMatrix([scaleX, 0, 0, scaleY, x(0), y(0)]);
  for (const shape of layout.shapes ?? []) {
    const path = new Path2D();
    path.addPath(outline(shape), matrix);
    context.strokeStyle = shape.line.color;
    context.lineWidth = shape.line.width * dots;
    context.stroke(path);
  }
}
