// What a heatmap's cell is, from the figure's `layout.meta.cells`.

export function cellAt(all, [row, column]) {
  const gridRow = Math.floor(row / all.pitch_rows);
  const gridColumn = Math.floor(column / all.pitch_columns);
  const insideRow = (row % all.pitch_rows) - all.map_top;
  const insideColumn = column % all.pitch_columns;
  const map = gridRow * all.grid_columns + gridColumn;
  const cells = ofMap(all, map);
  if (insideRow < 0 || insideRow >= cells.map_rows || insideColumn >= cells.map_columns) return null;
  if (cells.heads.length && map >= cells.heads.length) return null;
  const first = (inside, step, start, count) => Math.min(Math.floor(inside * step) + start, count - 1);
  const top = first(insideRow, cells.rows_per_cell, cells.first_row, cells.rows.length);
  const left = first(insideColumn, cells.columns_per_cell, cells.first_column, cells.columns.length);
  return {
    map,
    head: cells.heads[map],
    role: cells.roles[map],
    row: top,
    lastRow: Math.min(top + Math.max(Math.ceil(cells.rows_per_cell), 1), cells.rows.length) - 1,
    column: left,
    lastColumn: Math.min(left + Math.max(Math.ceil(cells.columns_per_cell), 1), cells.columns.length) - 1,
  };
}

// What cells are in one map, where maps have different sizes.
export function ofMap(cells, map) {
  return { times: 1, ...cells, ...cells.maps?.[map] };
}

export function number(value, digits) {
  if (value === 0) return "0";
  if (Math.abs(value) < 1e-4) return value.toExponential(digits - 1).replace("-", "\u2212");
  return Number(value.toPrecision(digits)).toString().replace("-", "\u2212");
}

function line(...parts) {
  const made = document.createElement("div");
  made.append(...parts);
  return made;
}

function strong(text) {
  const made = document.createElement("b");
  made.textContent = text;
  return made;
}

function range(name, labels, first, last) {
  const place = first === last ? `${first}` : `${first} to ${last}`;
  return line(`${name} ${place} `.trimStart(), strong(first === last ? labels[first] : `${labels[first]} … ${labels[last]}`));
}

// What is drawn at a cell: its `number`, and the `kind` that it stands for, or why it has none; `behind` is the weight behind the colour, where that is another.
export function shownAt(cells, { z, customdata }, [row, column]) {
  const value = z[row][column];
  if (value < cells.lowest - 1e-9) {
    const hidden = (cells.hidden_from ?? null) !== null && value > cells.hidden_from;
    return { number: null, hidden, without: hidden ? cells.hidden : cells.below };
  }
  if (cells.names?.length) return { number: value, kind: cells.names[value] };
  return { number: cells.is_log ? 10 ** value : value, behind: cells.behind ? customdata[row][column] : null };
}

export function nameOf(all, cell, shown, quantised) {
  const cells = ofMap(all, cell.map);
  const lines = [];
  if (cells.heads.length && cells.map_name) lines.push(line(`${cells.map_name} ${cell.head}${cell.role ? ` · ${cell.role}` : ""}`));
  else if (cell.role) lines.push(line(cell.role));
  if (cells.row_name) {
    lines.push(range(cells.row_name, cells.rows, cell.row, cell.lastRow), range(cells.column_name, cells.columns, cell.column, cell.lastColumn));
  } else {
    lines.push(line(`${cells.rows[cell.row]} and ${cells.columns[cell.column]}`));
  }
  const pooled = cell.row !== cell.lastRow || cell.column !== cell.lastColumn;
  if (shown.number === null) lines.push(line(strong(shown.without)));
  else if (shown.kind) lines.push(line(`${cells.value} `, strong(shown.kind)));
  else if (!cells.value) lines.push(line(strong(pooled ? "some pairs may attend" : "may attend")));
  else {
    const told = (name, value) => lines.push(line(`${pooled ? "largest " : ""}${name} `, strong(`${quantised ? "≈ " : ""}${number(value * cells.times, quantised ? 2 : 4)}`)));
    if (cells.behind) told(cells.behind, shown.behind);
    if (cells.behind !== cells.value) told(cells.value, shown.number);
  }
  return lines;
}
