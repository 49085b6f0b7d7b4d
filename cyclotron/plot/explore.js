// The interactive view of one run or two: arrays of PEs over their cycles. `render` is called by anywidget, and by
// the page that `Exploration.to_html` writes. `_explore_data.py` packs the data that `unpack` reads.

const VIRIDIS = [
  [68, 1, 84], [71, 45, 123], [59, 82, 139], [44, 114, 142], [33, 145, 140],
  [40, 174, 128], [94, 201, 98], [173, 220, 48], [253, 231, 37],
];
const CLASS_COLORS = [
  "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#777777", "#8c6bb1", "#66a61e",
];
const GROUNDS = {
  light: { ground: "#ffffff", idle: "#ececec", line: "#ffffff", ink: "#333333", path: "#d4006a", picked: "#000000" },
  dark: { ground: "#161616", idle: "#303030", line: "#161616", ink: "#e2e2e2", path: "#ff6db6", picked: "#ffffff" },
};
const TYPES = {
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, float64: Float64Array,
};
const RUN_COLORS = ["#2a788e", "#d98c1f", "#8c6bb1", "#66a61e"];
const SIDE = 520; // pixels of an array, at most
const BINS = 600; // of the strip that tells how many PEs compute
const SECONDS = 12; // that a run plays, unless it has few cycles
const FEWEST_CYCLES_A_SECOND = 4;

const number = (value) => value.toLocaleString("en-US");
const plural = (count, what) => `${number(count)} ${what}${count === 1 ? "" : "s"}`;
const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

/** A new element with properties, in a parent. */
function add(parent, tag, properties = {}) {
  const { label, ...rest } = properties;
  const element = Object.assign(document.createElement(tag), rest);
  if (label) element.setAttribute("aria-label", label);
  parent.append(element);
  return element;
}

/** The views of the data: places of arrays become the arrays. */
async function unpack(data) {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const text = new TextDecoder().decode(new Uint8Array(buffer, 8, length));
  const array = (key, value) =>
    value && value.type in TYPES ? new TYPES[value.type](buffer, 8 + length + value.at, value.length) : value;
  return JSON.parse(text, array).views;
}

/** A colour as ImageData has it, in one number. */
function pixel(color) {
  const value = typeof color === "string" ? color.match(/\w\w/g).map((part) => parseInt(part, 16)) : color;
  return ((255 << 24) | (value[2] << 16) | (value[1] << 8) | value[0]) >>> 0;
}

function viridis(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return VIRIDIS[low].map((from, n) => Math.round(from + (at - low) * (VIRIDIS[low + 1][n] - from)));
}

/** Whether an element stands on a dark ground, whatever made it dark. */
function isDark(element) {
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
    const [red, green, blue, alpha = 1] = (getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    if (alpha > 0 && red !== undefined) return 0.3 * red + 0.6 * green + 0.1 * blue < 128;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** What each cell does at a cycle. A cell remembers its span, so that the next cycle is a step away. */
class Timeline {
  constructor(spans) {
    this.spans = spans;
    this.at = Uint32Array.from(spans.offsets.subarray(0, -1));
  }

  /** The span of a cell at a cycle, or -1: the first that ends later, if it has begun. */
  find(cell, cycle) {
    const { offsets, starts, ends } = this.spans;
    const first = offsets[cell];
    const last = offsets[cell + 1];
    let at = this.at[cell];
    while (at < last && ends[at] <= cycle) at++;
    while (at > first && ends[at - 1] > cycle) at--;
    this.at[cell] = at;
    return at < last && starts[at] <= cycle ? at : -1;
  }

  /** How many cells are in a state other than a wait, on average over each of so many bins of the cycles. */
  activity(states, cycles, bins) {
    const { starts, ends, states: codes } = this.spans;
    const sums = new Float64Array(bins);
    const width = cycles / bins;
    for (let n = 0; n < starts.length; n++) {
      if (states[codes[n]].waits) continue;
      for (let bin = Math.floor(starts[n] / width); bin < bins && bin * width < ends[n]; bin++)
        sums[bin] += (Math.min(ends[n], (bin + 1) * width) - Math.max(starts[n], bin * width)) / width;
    }
    return sums;
  }
}

/** The array of one run, on a canvas. */
class ArrayView {
  constructor(parent, view, name, choose) {
    this.view = view;
    this.timeline = view.spans && new Timeline(view.spans);
    this.picked = -1;
    const run = add(parent, "section", { className: "run", label: name });
    this.heading = add(run, "h3", { textContent: `${view.title}, ${plural(view.cycles, "cycle")}` });
    this.now = add(run, "p", { className: "now" });
    this.canvas = add(run, "canvas", { className: "array", tabIndex: 0 });
    this.canvas.setAttribute("role", "application");
    add(run, "p", { textContent: this.axes(), className: "axes" });
    this.legend = add(run, "div", { className: "legend" });
    for (const note of view.notes) add(run, "p", { textContent: note, className: "note" });
    this.place();
    this.canvas.addEventListener("pointerdown", (event) => choose(this, this.cellAt(event.offsetX, event.offsetY)));
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!step) return;
      event.preventDefault();
      choose(this, this.neighbour(step));
    });
  }

  /** Give each cell a pixel of the image: planes of the last two dimensions beside and below each other. */
  place() {
    const shape = this.view.shape;
    const columns = shape.at(-1);
    const rows = shape.length > 1 ? shape.at(-2) : 1;
    const planes = Math.max(1, this.view.class_of.length / Math.max(rows * columns, 1));
    const across = Math.ceil(Math.sqrt((planes * rows) / columns)) || 1;
    this.columns = columns;
    this.rows = rows;
    this.planes = planes;
    this.across = Math.min(across, planes);
    this.width = this.across * (columns + 1) - 1;
    this.height = Math.ceil(planes / this.across) * (rows + 1) - 1;
    this.position = new Uint32Array(planes * rows * columns);
    for (let cell = 0; cell < this.position.length; cell++) {
      const [x, y] = this.corner(cell);
      this.position[cell] = y * this.width + x;
    }
    this.sheet = document.createElement("canvas");
    this.sheet.width = this.width;
    this.sheet.height = this.height;
    this.image = new ImageData(this.width, this.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.size();
  }

  /** The column and row of a cell in the image. */
  corner(cell) {
    const plane = Math.floor(cell / (this.rows * this.columns));
    const within = cell % (this.rows * this.columns);
    return [
      (plane % this.across) * (this.columns + 1) + (within % this.columns),
      Math.floor(plane / this.across) * (this.rows + 1) + Math.floor(within / this.columns),
    ];
  }

  /** What the directions of the picture are. */
  axes() {
    const { names, grid } = this.view;
    const ways = ["to the right", "down"];
    const texts = [...names].reverse().map((name, n) => `${name} ${ways[n] ?? "by picture"}, 0 to ${number(grid.at(-1 - n) - 1)}`);
    return texts.join("; ");
  }

  /** Pixels of a cell: square, but for lines and strips that would be too thin to hit. */
  size(side = SIDE) {
    const square = Math.min(side / this.width, side / this.height, 60);
    this.cellWidth = Math.max(square, Math.min(28, side / this.width, 28 / this.width));
    this.cellHeight = Math.max(square, Math.min(28, side / this.height, 28 / this.height));
    const { canvas } = this;
    const ratio = globalThis.devicePixelRatio || 1;
    canvas.width = Math.ceil(this.width * this.cellWidth * ratio);
    canvas.height = Math.ceil(this.height * this.cellHeight * ratio);
    canvas.style.width = `${canvas.width / ratio}px`;
    this.context = canvas.getContext("2d");
  }

  cellAt(x, y) {
    const scale = (this.width * this.cellWidth) / this.canvas.clientWidth; // of a canvas that had to shrink
    const column = Math.floor((x * scale) / this.cellWidth);
    const row = Math.floor((y * scale) / this.cellHeight);
    if (column % (this.columns + 1) >= this.columns || row % (this.rows + 1) >= this.rows) return -1;
    const plane = Math.floor(row / (this.rows + 1)) * this.across + Math.floor(column / (this.columns + 1));
    if (plane < 0 || plane >= this.planes) return -1;
    return (plane * this.rows + (row % (this.rows + 1))) * this.columns + (column % (this.columns + 1));
  }

  neighbour([down, right]) {
    if (this.picked < 0) return 0;
    const column = (this.picked % this.columns) + right;
    const row = (Math.floor(this.picked / this.columns) % this.rows) + down;
    const inside = column >= 0 && column < this.columns && row >= 0 && row < this.rows;
    return inside ? this.picked + down * this.columns + right : this.picked;
  }

  /** The coordinates of a cell's PE in the grid. */
  coordinates(cell) {
    const found = [];
    for (const extent of [...this.view.shape].reverse()) {
      found.unshift((cell % extent) * this.view.step);
      cell = Math.floor(cell / extent);
    }
    return found;
  }

  /** The cell of a linear index of the grid; the nearest where the view has only samples. */
  cellOf(pe) {
    const { grid, shape, step } = this.view;
    let cell = 0;
    let stride = 1;
    for (let d = grid.length - 1; d >= 0; d--) {
      cell += Math.min(Math.round((pe % grid[d]) / step), shape[d] - 1) * stride;
      pe = Math.floor(pe / grid[d]);
      stride *= shape[d];
    }
    return cell;
  }

  nameOf(cell) {
    const { names } = this.view;
    return `PE (${this.coordinates(cell).map((at, d) => `${names[d]} = ${at}`).join(", ")})`;
  }

  /** Colour the cells and tell what the colours mean. */
  paint(cycle, layer, options, theme) {
    const { view } = this;
    if (layer.kind === "state") this.paintStates(cycle, options, theme);
    else if (layer.kind === "class") this.paintClasses(theme);
    else this.paintCounts(view.counts[layer.index]);
    this.draw(cycle, options, theme);
    const label = `Array of PEs, ${view.title}. ${this.now.textContent} Arrow keys choose a PE.`;
    this.canvas.setAttribute("aria-label", label);
  }

  paintStates(cycle, options, theme) {
    const { view, timeline, pixels, position } = this;
    const idle = pixel(theme.idle);
    const palette = view.states.map((state) => (state.waits && !options.waits ? idle : pixel(state.color)));
    const counts = new Uint32Array(view.states.length);
    const { states } = view.spans;
    for (let cell = 0; cell < position.length; cell++) {
      const span = timeline.find(cell, cycle);
      if (span < 0) pixels[position[cell]] = idle;
      else {
        pixels[position[cell]] = palette[states[span]];
        counts[states[span]]++;
      }
    }
    const computing = view.states.reduce((sum, state, n) => sum + (state.waits ? 0 : counts[n]), 0);
    const entries = view.states.map((state, n) => [state.color, `${state.name} ${number(counts[n])}`]);
    const shown = entries.filter((_, n) => options.waits || !view.states[n].waits);
    const waiting = options.waits ? counts.reduce((sum, count) => sum + count, 0) - computing : 0;
    this.tell([...shown, [theme.idle, `nothing ${number(position.length - computing - waiting)}`]]);
    const when = cycle < view.cycles ? `Cycle ${number(cycle)} of ${number(view.cycles)}` : `Ended after ${number(view.cycles)} cycles`;
    const cells = plural(position.length, view.step > 1 ? "shown PE" : "PE");
    this.now.textContent = `${when}: ${number(computing)} of ${cells} compute, ${percent(computing / position.length)}.`;
  }

  paintCounts(count) {
    const { view, pixels, position } = this;
    const steps = 256;
    const palette = Uint32Array.from({ length: steps + 1 }, (_, n) => pixel(viridis(n / steps)));
    let sum = 0;
    for (let cell = 0; cell < position.length; cell++) {
      const share = count.cycles[cell] / Math.max(view.cycles, 1);
      pixels[position[cell]] = palette[Math.round(share * steps)];
      sum += share;
    }
    this.tell([["scale", `${count.name}: 0 % to 100 % of the cycles`]]);
    const mean = percent(sum / position.length);
    this.now.textContent = `${number(view.cycles)} cycles, ${count.name} ${mean} of them on average.`;
  }

  paintClasses(theme) {
    const { view, pixels, position } = this;
    const color = (n) => (n ? CLASS_COLORS[(n - 1) % CLASS_COLORS.length] : theme.idle);
    const palette = [0, ...view.classes.map((_, n) => n + 1)].map((n) => pixel(color(n)));
    for (let cell = 0; cell < position.length; cell++) pixels[position[cell]] = palette[view.class_of[cell]];
    this.tell(view.classes.slice(0, 24).map((one, n) => [color(n + 1), `${one.name}: ${plural(one.pes, "PE")}`]));
    this.now.textContent = `${view.classes.length} ${view.classes.length === 1 ? "program" : "different programs"}.`;
  }

  /** Fill the legend, in place where it has as many entries. */
  tell(entries) {
    while (this.legend.children.length > entries.length) this.legend.lastChild.remove();
    entries.forEach(([color, text], n) => {
      const entry = this.legend.children[n] ?? add(this.legend, "span");
      if (!entry.firstChild) entry.append(document.createElement("i"), "");
      entry.firstChild.className = color === "scale" ? "scale" : "";
      const scale = `linear-gradient(to right, ${VIRIDIS.map((rgb) => `rgb(${rgb})`).join()})`;
      entry.firstChild.style.background = color === "scale" ? scale : color;
      if (entry.lastChild.data !== text) entry.lastChild.data = text;
    });
  }

  draw(cycle, options, theme) {
    const { context, cellWidth, cellHeight, width, height } = this;
    const ratio = this.canvas.width / (width * cellWidth);
    this.sheet.getContext("2d").putImageData(this.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width * cellWidth, height * cellHeight);
    context.imageSmoothingEnabled = cellWidth < 1;
    context.drawImage(this.sheet, 0, 0, width * cellWidth, height * cellHeight);
    if (Math.min(cellWidth, cellHeight) >= 5) {
      context.fillStyle = theme.line;
      for (let x = 1; x < width; x++) context.fillRect(x * cellWidth - 0.5, 0, 1, height * cellHeight);
      for (let y = 1; y < height; y++) context.fillRect(0, y * cellHeight - 0.5, width * cellWidth, 1);
    }
    if (options.path) this.drawPath(cycle, theme);
    if (this.picked >= 0) this.frame(this.picked, theme.picked, 2);
  }

  frame(cell, color, width) {
    const { context, cellWidth, cellHeight } = this;
    const [x, y] = this.corner(cell);
    context.strokeStyle = color;
    context.lineWidth = width;
    const [w, h] = [Math.max(cellWidth - 2, 4), Math.max(cellHeight - 2, 4)];
    context.strokeRect((x + 0.5) * cellWidth - w / 2, (y + 0.5) * cellHeight - h / 2, w, h);
  }

  center(cell) {
    const [x, y] = this.corner(cell);
    return [(x + 0.5) * this.cellWidth, (y + 0.5) * this.cellHeight];
  }

  /** The critical path up to a cycle as a line, and the step of the cycle as an arrow or a frame. */
  drawPath(cycle, theme) {
    const { context, view } = this;
    context.strokeStyle = context.fillStyle = theme.path;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [, , start, , source, pe] of view.path) {
      if (start > cycle) break;
      context.moveTo(...this.center(this.cellOf(source)));
      context.lineTo(...this.center(this.cellOf(pe)));
    }
    context.stroke();
    const step = this.step(cycle);
    if (!step) return;
    const [source, target] = [this.cellOf(step[4]), this.cellOf(step[5])];
    this.frame(target, theme.path, 3);
    if (source === target) return;
    const [[x0, y0], [x1, y1]] = [this.center(source), this.center(target)];
    const angle = Math.atan2(y1 - y0, x1 - x0);
    context.lineWidth = 3;
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    for (const turn of [2.6, -2.6]) {
      context.moveTo(x1, y1);
      context.lineTo(x1 + 9 * Math.cos(angle + turn), y1 + 9 * Math.sin(angle + turn));
    }
    context.stroke();
  }

  /** The step of the critical path that a cycle belongs to. */
  step(cycle) {
    return this.view.path.find(([, , start, end]) => start <= cycle && cycle < end);
  }
}

/** The panel of one PE: what it does at the cycle, the line of Python, the program of its class, its memory. */
class Details {
  constructor(parent) {
    this.panel = add(parent, "section", { className: "details", label: "Chosen PE" });
    this.panel.setAttribute("aria-live", "polite");
    add(this.panel, "p", { textContent: "Click on a PE, or choose one with the arrow keys, to see its program." });
  }

  /** Lay out what a PE has whatever the cycle. */
  open(array, cell) {
    this.array = array;
    this.cell = cell;
    const { view } = array;
    const { panel } = this;
    const one = view.classes[view.class_of[cell] - 1];
    this.pe_class = one;
    panel.replaceChildren();
    add(panel, "h3", { textContent: array.nameOf(cell), className: "pe" });
    if (!one) {
      add(panel, "p", { textContent: "It has no program." });
      return;
    }
    add(panel, "p", { textContent: `${one.name}, ${plural(one.pes, "PE")}: ${one.region}` });
    this.doing = add(panel, "p", { className: "now" });
    add(panel, "h4", { textContent: "Python" });
    this.source = add(panel, "pre", { className: "source" });
    add(panel, "h4", { textContent: "Program" });
    const program = add(panel, "pre", { className: "program" });
    this.lines = one.text.map((text) => add(program, "span", { textContent: text || " " }));
    add(panel, "h4", { textContent: `Memory, ${plural(one.bytes, "byte")}` });
    this.values = this.table("memory", ["address", "bytes", "now", "value"], one.memory.map(
      ([address, bytes, name, , persistent]) => [address, bytes, "", persistent ? `${name}, kept` : name],
    ));
    add(panel, "h4", { textContent: "Cycles" });
    this.table("cycles", ["cycles", "share", ""], view.counts.map(({ name, cycles }) => [
      number(cycles[cell]), percent(cycles[cell] / Math.max(view.cycles, 1)), name,
    ]));
  }

  table(name, header, rows) {
    const table = add(this.panel, "table", { className: name });
    const head = add(table, "tr");
    for (const text of header) add(head, "th", { textContent: text, scope: "col" });
    return rows.map((row) => {
      const line = add(table, "tr");
      for (const text of row) add(line, "td", { textContent: text });
      return line;
    });
  }

  /** Mark what the PE does at a cycle: its last instruction stays marked while it does nothing. */
  show(cycle) {
    if (!this.pe_class) return;
    const { view, timeline } = this.array;
    const one = this.pe_class;
    const span = timeline ? timeline.find(this.cell, cycle) : -1;
    const instruction = span < 0 ? -1 : view.spans.instructions[span];
    this.doing.textContent = this.sentence(cycle, span, instruction);
    this.lines.forEach((line, n) => line.classList.toggle("here", one.instructions[n] === instruction));
    this.lines.find((line) => line.className === "here")?.setAttribute("aria-current", "step");
    const numbers = instruction < 0 ? [...new Set(one.sources)] : [one.sources[instruction]];
    const rows = numbers.filter((n) => n >= 0).map((n) => view.sources[n]);
    const text = rows.map(([file, line, code]) => `${file}:${line}\n${code}`).join("\n");
    if (this.source.textContent !== text) this.source.textContent = text || "no line of its own";
    one.memory.forEach(([, , , live, persistent], n) => {
      const held = persistent || live.some(([first, last]) => first <= instruction && instruction <= last);
      this.values[n].classList.toggle("here", instruction >= 0 && held);
      this.values[n].children[2].textContent = instruction < 0 ? "" : held ? "live" : "free";
    });
  }

  sentence(cycle, span, instruction) {
    const { view } = this.array;
    if (!view.spans) return "";
    if (span < 0) return `Cycle ${number(cycle)}: does nothing.`;
    const { starts, ends, states, loops } = view.spans;
    const around = this.pe_class.loops.filter(([, first, last]) => first <= instruction && instruction <= last);
    const state = view.states[states[span]];
    const values = around.map(([name], n) => (loops[n] && !state.waits ? `, ${name} = ${loops[n][span]}` : "")).join("");
    return `Cycle ${number(cycle)}: ${state.name}${values}; from cycle ${number(starts[span])} to ${number(ends[span])}.`;
  }
}

/** Controls, arrays and details of all views. */
class Explorer {
  constructor(model, element, views) {
    this.model = model;
    this.views = views;
    this.root = add(element, "div", { className: "cyclotron" });
    const left = add(this.root, "div", { className: "arrays" });
    const runs = add(left, "div", { className: "runs" });
    this.details = new Details(this.root);
    this.arrays = views.map(
      (view, n) => new ArrayView(runs, view, `Run ${n + 1}: ${view.title}`, (array, cell) => this.choose(array, cell)),
    );
    if (views.length > 1)
      this.arrays.forEach(({ heading }, n) => (heading.style.borderLeft = `8px solid ${RUN_COLORS[n % RUN_COLORS.length]}`));
    this.cycles = Math.max(1, ...views.map((view) => view.cycles));
    this.moves = views.some((view) => view.spans);
    this.cycle = Math.min(Math.max(model.get("cycle") ?? 0, 0), this.cycles - 1);
    this.speed = 1;
    this.strip = null;
    this.addTime(left);
    this.addLayers(left);
    this.path = add(left, "p", { className: "path" });
    this.retheme();
    this.watch();
    const [which, pe] = model.get("selected") ?? [];
    if (this.arrays[which]) this.choose(this.arrays[which], this.arrays[which].cellOf(pe));
    this.root.dataset.ready = "";
  }

  addTime(parent) {
    const time = add(parent, "div", { className: "time", hidden: !this.moves });
    this.strip = add(time, "canvas", { width: BINS, height: 34 });
    this.strip.setAttribute("aria-hidden", "true");
    const jump = (event) => {
      if (event.buttons) this.go(Math.floor((event.offsetX / this.strip.clientWidth) * this.cycles));
    };
    this.strip.addEventListener("pointerdown", jump);
    this.strip.addEventListener("pointermove", jump);
    this.slider = add(time, "input", { type: "range", min: 0, max: this.cycles - 1, step: 1, label: "Cycle" });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    const controls = add(time, "div", { className: "controls" });
    this.button = add(controls, "button", { className: "play", type: "button", textContent: "Play" });
    this.button.addEventListener("click", () => this.play(!this.playing));
    for (const [text, step] of [["Cycle back", -1], ["Cycle on", 1]])
      add(controls, "button", { type: "button", textContent: text }).addEventListener("click", () => this.go(this.cycle + step));
    const speed = add(controls, "select", { label: "Speed" });
    for (const factor of [0.25, 1, 4])
      add(speed, "option", { value: factor, textContent: `${factor}× speed`, selected: factor === 1 });
    speed.addEventListener("change", () => (this.speed = Number(speed.value)));
    this.bars = this.arrays.map(({ timeline, view }) => {
      const bins = Math.min(BINS, this.cycles);
      const own = Math.max(1, Math.round((bins * view.cycles) / this.cycles));
      return timeline ? timeline.activity(view.states, view.cycles, own) : [];
    });
  }

  addLayers(parent) {
    const controls = add(parent, "div", { className: "controls" });
    const counts = this.views[0].counts.map(({ name }, index) => ({ kind: "count", index, name: `cycles ${name}` }));
    this.layers = [{ kind: "state", name: "state at the cycle" }, ...counts, { kind: "class", name: "PE class" }];
    if (!this.views.every((view) => view.spans)) this.layers.shift();
    this.layer = this.layers[0];
    const choice = add(controls, "select", { className: "layer", label: "Colours" });
    this.layers.forEach(({ name }) => add(choice, "option", { textContent: name }));
    choice.addEventListener("change", () => {
      this.layer = this.layers[choice.selectedIndex];
      this.schedule();
    });
    this.options = { waits: true, path: false };
    const boxes = [["waits", "stalls", this.moves], ["path", "critical path", this.views.some((view) => view.path.length)]];
    for (const [name, text, there] of boxes) {
      if (!there) continue;
      const label = add(controls, "label");
      const box = add(label, "input", { type: "checkbox", name, checked: this.options[name] });
      label.append(` ${text}`);
      box.addEventListener("change", () => {
        this.options[name] = box.checked;
        this.schedule();
      });
    }
  }

  choose(array, cell) {
    if (cell < 0) return;
    for (const other of this.arrays) other.picked = other === array ? cell : -1;
    this.details.open(array, cell);
    const coordinates = array.coordinates(cell);
    const pe = coordinates.reduce((sum, at, d) => sum * array.view.grid[d] + at, 0);
    this.model.set("selected", [this.arrays.indexOf(array), pe]);
    this.model.save_changes();
    this.schedule();
  }

  go(cycle, told = false) {
    this.cycle = Math.min(Math.max(Math.round(cycle), 0), this.cycles - 1);
    if (!told && !this.playing) {
      this.model.set("cycle", this.cycle);
      this.model.save_changes();
    }
    this.schedule();
  }

  play(on) {
    this.playing = on && !this.stopped;
    this.button.textContent = this.playing ? "Pause" : "Play";
    if (!this.playing) return this.go(this.cycle);
    let at = this.cycle >= this.cycles - 1 ? 0 : this.cycle;
    let before = performance.now();
    const frame = (now) => {
      if (!this.playing || this.stopped) return;
      const rate = Math.max(FEWEST_CYCLES_A_SECOND, this.cycles / SECONDS) * this.speed;
      if (Math.floor(at) !== this.cycle && this.cycle !== Math.min(Math.floor(at), this.cycles - 1)) at = this.cycle;
      at += ((now - before) / 1000) * rate;
      before = now;
      this.go(Math.floor(at));
      if (at >= this.cycles) this.play(false);
      else requestAnimationFrame(frame);
    };
    this.go(at);
    requestAnimationFrame(frame);
  }

  /** Draw once before the next picture of the screen, however often it is asked for. */
  schedule() {
    this.drawn ??= requestAnimationFrame(() => {
      this.drawn = null;
      if (!this.stopped) this.draw();
    });
  }

  draw() {
    for (const array of this.arrays) array.paint(this.cycle, this.layer, this.options, this.theme);
    this.slider.value = this.cycle;
    this.slider.setAttribute("aria-valuetext", `cycle ${this.cycle} of ${this.cycles}`);
    if (this.moves) this.drawStrip();
    this.details.show(this.cycle);
    const texts = this.options.path ? this.arrays.map((array) => this.stepText(array)).filter(Boolean) : [];
    this.path.textContent = texts.join(" · ");
    this.root.dataset.cycle = this.cycle;
    this.root.dataset.frames = Number(this.root.dataset.frames ?? 0) + 1;
  }

  stepText(array) {
    const step = array.step(this.cycle);
    if (!step) return "";
    const [kind, name, start, end, , pe, line] = step;
    const where = `${array.nameOf(array.cellOf(pe))}${line ? `, ${line}` : ""}`;
    return `Critical path, cycles ${number(start)} to ${number(end)}: ${array.view.kinds[kind]}, ${name}, ${where}`;
  }

  /** How many PEs compute over all cycles, a colour a run, with a line at this cycle. */
  drawStrip() {
    const context = this.strip.getContext("2d");
    const { width, height } = this.strip;
    const most = Math.max(1e-9, ...this.bars.map((bars) => bars.reduce((a, b) => Math.max(a, b), 0)));
    context.clearRect(0, 0, width, height);
    this.bars.forEach((bars, which) => {
      context.globalAlpha = this.bars.length > 1 ? 0.6 : 1;
      context.fillStyle = RUN_COLORS[which % RUN_COLORS.length];
      const step = ((width / this.cycles) * this.views[which].cycles) / bars.length;
      for (let n = 0; n < bars.length; n++) {
        const high = (bars[n] / most) * (height - 2);
        context.fillRect(n * step, height - high, Math.max(step, 0.7), high);
      }
    });
    context.globalAlpha = 1;
    context.fillStyle = this.theme.path;
    context.fillRect(((this.cycle + 0.5) / this.cycles) * width - 1, 0, 2, height);
  }

  retheme() {
    const dark = isDark(this.root.parentElement);
    this.root.classList.toggle("dark", dark);
    this.theme = dark ? GROUNDS.dark : GROUNDS.light;
    this.schedule();
  }

  /** Follow the ground, and what Python sets. */
  watch() {
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const retheme = () => this.retheme();
    scheme.addEventListener("change", retheme);
    const observer = new MutationObserver(retheme);
    for (const at of [document.documentElement, document.body]) observer.observe(at, { attributes: true });
    const goThere = () => this.go(this.model.get("cycle"), true);
    this.model.on("change:cycle", goThere);
    this.stop = () => {
      this.stopped = true;
      scheme.removeEventListener("change", retheme);
      observer.disconnect();
      this.model.off("change:cycle", goThere);
    };
  }
}

/** Show a model's data in an element; returns what ends it. Anywidget calls this. */
async function render({ model, el }) {
  const explorer = new Explorer(model, el, await unpack(model.get("data")));
  return explorer.stop;
}

/** A model of a page: it has data, and nobody to tell of changes. */
function fixedModel(values) {
  const nothing = () => {};
  return { get: (name) => values[name], set: nothing, save_changes: nothing, on: nothing, off: nothing };
}

export default { render };
