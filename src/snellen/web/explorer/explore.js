"use strict";
/* The explorer of a report. Texts of items and subjects are added to the page as text nodes only, never as markup. */
(() => {
  const content = JSON.parse(document.getElementById("content").textContent);
  const spec = JSON.parse(document.getElementById("spec").textContent);
  const { arms, marks, exams, images, strings } = content;
  const CARDS = 20, COLUMNS = 6;
  const by = (id) => document.getElementById(id);

  const items = content.items.map((cells) => {
    const [exam, task, id, question, truth, requires, factors, measures, query, options, support, keyBox, answers, guess] = cells;
    return {
      exam, task: exams[exam].tasks[task], taskKey: exam + "/" + task, id: strings[id], question: strings[question],
      truth: strings[truth], requires: requires.map((n) => strings[n]),
      factors: factors.map(([name, level]) => strings[name] + ": " + strings[level]),
      measures: new Map(measures.map(([name, value]) => [strings[name], value])), query, options, support, keyBox,
      answers: new Map(answers.map(([arm, mark, value, score, read, text, box, prompt]) => [arm,
        { mark: marks[mark], value, score: strings[score], read: strings[read], text: strings[text], box, prompt: strings[prompt] }])),
      guess: guess && { mark: marks[guess[0]], score: "", read: strings[guess[1]], text: "The most frequent right answer to this question in other items." },
    };
  });
  const shownArms = arms.map((_, number) => number).filter((number) => !arms[number].blind);
  const examined = shownArms.filter((number) => !arms[number].simulated);

  function node(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {})) {
      if (name in element) element[name] = value; else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  function shot(number, limit) {
    const [path, note, width, height] = images[number];
    if (!path) return node("span", { className: "note" }, note);
    const scale = Math.min(1, limit / width);
    return node("img", { src: path, alt: "", title: note, loading: "lazy", width: Math.round(width * scale), height: Math.round(height * scale) });
  }

  /* Outlines of boxes, and crosses at points: solid for the right one, dashed for that of a reply. */
  function svg(width, height, ...shapes) {
    const make = (tag, properties) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
      return element;
    };
    const drawing = make("svg", { viewBox: "0 0 " + width + " " + height, width, height, "aria-hidden": "true" });
    drawing.append(...shapes.map(([tag, properties]) => make(tag, properties)));
    return drawing;
  }

  function outlined(item, box) {
    const [path, , width, height] = images[item.query[0]];
    if (!path) return "";
    const cross = (x, y, name) => ["path", { class: name, d: `M${x - 9} ${y}H${x + 9}M${x} ${y - 9}V${y + 9}` }];
    const outline = ([left, top, right, bottom], name) => right === undefined ? cross(left * width, top * height, name)
      : ["rect", { class: name, x: left * width, y: top * height, width: (right - left) * width, height: (bottom - top) * height }];
    const kind = box.length === 2 ? "point" : "box";
    const line = (name, text) => node("span", {}, svg(34, 10, ["line", { class: name, x1: 2, x2: 32, y1: 5, y2: 5 }]), " " + text);
    return node("figure", { className: "outlined" },
      node("div", {}, shot(item.query[0], width), svg(width, height, outline(item.keyBox, "key-box"), outline(box, "reply-box"))),
      node("figcaption", { className: "note" }, line("key-box", "right " + kind), " ", line("reply-box", "this reply")));
  }

  function choice(label, entries, change) {
    const select = node("select", { onchange: change }, ...entries.map(([value, text]) => node("option", { value }, text)));
    return [node("label", {}, label + " ", select), select];
  }

  const SIGNS = { right: "✓", wrong: "✗", partly: "◐", "no answer": "–", "cut off": "…", failed: "!", declined: "·" };
  const markClass = (mark) => "mark-" + mark.replace(" ", "-");
  const tasks = exams.flatMap((exam, e) => exam.tasks.map((task, t) => [e + "/" + t, (exams.length > 1 ? exam.title + ": " : "") + task.name]));

  /* Item with its replies */

  function reply(title, answer, item) {
    const box = node("div", { className: "reply" }, node("strong", {}, title));
    if (!answer) return box.append(" was not asked this"), box;
    box.append(" ", node("span", { className: markClass(answer.mark) }, SIGNS[answer.mark] + " " + answer.mark + " " + answer.score));
    if (answer.read) box.append(" · read as " + answer.read);
    box.append(node("p", {}, answer.text));
    if (item.keyBox && answer.box) box.append(outlined(item, answer.box));
    return box;
  }

  /* Each prompt with the subjects that got it, unless all did. */
  function prompts(item, numbers) {
    const readers = new Map();
    for (const n of numbers) {
      const text = item.answers.get(n)?.prompt;
      if (text) readers.set(text, [...(readers.get(text) || []), arms[n].name]);
    }
    return [...readers].map(([text, names]) => node("details", { open: true },
      node("summary", {}, "Prompt as sent" + (names.length < numbers.filter((n) => item.answers.has(n)).length ? " to " + names.join(", ") : "")), node("pre", { tabIndex: 0 }, text)));
  }

  function card(item, numbers) {
    const article = node("article", {}, node("h3", {}, item.task.name, " ", node("span", { className: "note" },
      [item.id, ...item.factors, ...(item.requires.length ? ["requires " + item.requires.join(", ")] : []),
        ...[...item.measures].map(([name, value]) => name + ": " + Number(value.toPrecision(4)))].join(" · "))));
    for (const [answer, shots, captions] of item.support) {
      article.append(node("div", { className: "shots" }, node("span", { className: "note" }, strings[answer]),
        ...shots.map((n) => shot(n, 72)), ...captions.map((n) => node("span", { className: "note" }, strings[n]))));
    }
    const asked = node("div", {}, node("div", { className: "shots" }, ...item.query.map((n) => shot(n, 240))),
      node("p", { className: "question" }, item.question));
    if (item.options.length) asked.append(node("div", { className: "shots" }, ...item.options.map(([text, shots, isRight]) =>
      node("span", { className: isRight ? "option truth" : "option" }, ...shots.map((n) => shot(n, 110)), strings[text]))));
    asked.append(node("p", {}, "Right answer: ", node("strong", { className: "mark-right" }, item.truth)));
    const sent = prompts(item, numbers);
    article.append(node("div", { className: "asked" }, asked, ...(sent.length ? [node("div", {}, ...sent)] : [])));
    const replies = numbers.map((n) => reply(arms[n].name, item.answers.get(n), item));
    const unsighted = arms.map((_, n) => n).filter((n) => arms[n].blind && item.answers.has(n));
    const own = unsighted.filter((n) => numbers.some((other) => arms[other].subject === arms[n].subject));
    const blind = own.length ? own : unsighted;
    replies.push(...blind.map((n) => reply("Without images: " + arms[n].name, item.answers.get(n), item)));
    if (item.guess) replies.push(reply("Blind guess", item.guess, item));
    article.append(node("div", { className: "replies" }, ...replies));
    return article;
  }

  function openItem(item) {
    by("card").replaceChildren(card(item, shownArms.filter((n) => item.answers.has(n))));
    by("detail").showModal();
  }
  by("close").onclick = () => by("detail").close();

  /* Subjects by ability */

  function grids() {
    exams.forEach((exam, e) => {
      const numbers = shownArms.filter((n) => exam.rows.some((row) => row.cells.some(([arm]) => arm === n)));
      const head = node("tr", {}, node("th", { scope: "col" }, exam.title), ...numbers.map((n) => node("th", { scope: "col" }, arms[n].name)));
      const body = exam.rows.map((row) => {
        const task = exam.tasks[row.task], cells = new Map(row.cells.map((cell) => [cell[0], cell]));
        const name = row.ability ? "where " + row.ability + " decides" : task.name + (task.metric ? " (" + task.metric + ")" : "");
        return node("tr", { className: row.ability ? "ability" : "" }, node("th", { scope: "row" }, name), ...numbers.map((n) => {
          const cell = cells.get(n);
          if (!cell) return node("td", {});
          const [, text, span, colour, count, grade] = cell;
          const open = () => lookAt({ task: e + "/" + row.task, arm: n, ability: row.ability });
          return node("td", {}, node("button", { type: "button", className: "cell " + colour, onclick: open,
            title: count + " scored; show its items" }, node("b", {}, text), " ", node("span", { className: "note" }, span + " " + grade)));
        }));
      });
      by("grids").append(node("table", { className: "grid" }, node("thead", {}, head), node("tbody", {}, ...body)));
    });
  }

  /* Items */

  const filters = { task: "", factor: "", arm: "", mark: "" };
  let table = null, controls = null;

  function factorEntries(task) {
    const levels = new Set();
    for (const item of items) {
      if (task && item.taskKey !== task) continue;
      item.factors.forEach((level) => levels.add(level));
      item.requires.forEach((name) => levels.add("requires: " + name));
    }
    return [["", "any"], ...[...levels].sort().slice(0, 400).map((level) => [level, level])];
  }

  const hasFactor = (item, factor) => !factor || item.factors.includes(factor) ||
    item.requires.some((name) => "requires: " + name === factor);

  function hasMark(item) {
    const chosen = filters.arm === "" ? shownArms : [Number(filters.arm)];
    return chosen.some((n) => item.answers.has(n) && (!filters.mark || item.answers.get(n).mark === filters.mark));
  }

  function fillItems() {
    const rows = items.filter((item) => (!filters.task || item.taskKey === filters.task) && hasFactor(item, filters.factor) && hasMark(item));
    table.clear().rows.add(rows).draw();
    by("count").textContent = rows.length + " of " + items.length + " items";
  }

  function buildItems() {
    const set = (name) => (event) => { filters[name] = event.target.value; if (name === "task") fillFactors(); fillItems(); };
    const [taskLabel, task] = choice("Task", [["", "all"], ...tasks], set("task"));
    const [factorLabel, factor] = choice("Factor", factorEntries(""), set("factor"));
    const [armLabel, arm] = choice("Subject", [["", "any"], ...shownArms.map((n) => [String(n), arms[n].name])], set("arm"));
    const [markLabel, mark] = choice("Answer", [["", "any"], ...marks.map((name) => [name, name])], set("mark"));
    controls = { task, factor, arm, mark };
    by("filters").append(taskLabel, factorLabel, armLabel, markLabel);
    const escaped = DataTable.render.text();
    const shown = shownArms.slice(0, COLUMNS);
    const columns = [
      { title: "item", orderable: false, searchable: false, data: null, render: (_, type) => "", createdCell: (cell, _, item) => {
        cell.replaceChildren(node("button", { type: "button", className: "open", ariaLabel: "Open " + item.id, onclick: () => openItem(item) },
          ...(item.query.length ? [shot(item.query[0], 48)] : ["open"])));
      } },
      { title: "task", data: (item) => item.task.name, render: escaped },
      { title: "question", data: (item) => item.question, render: escaped, className: "question-cell" },
      { title: "right answer", data: (item) => item.truth, render: escaped },
      ...shown.map((n) => ({ title: node("span", {}, arms[n].name).innerHTML.replace(":", ":<wbr>"), data: (item) => item.answers.get(n)?.mark ?? "", render: escaped,
        createdCell: (cell, mark, item) => {
          const answer = item.answers.get(n);
          if (answer) cell.replaceChildren(node("span", { className: markClass(answer.mark) }, SIGNS[answer.mark] + " " + (answer.score || answer.read || answer.mark)));
        } })),
    ];
    if (!filters.task && examined.length) {  /* as opened: what the first subject got wrong */
      Object.assign(filters, { arm: String(examined[0]), mark: "wrong" });
      if (!items.some(hasMark)) Object.assign(filters, { arm: "", mark: "" });
      for (const [name, control] of Object.entries(controls)) control.value = filters[name];
    }
    table = new DataTable("#table", { data: [], columns, autoWidth: false, pageLength: 25, order: [], deferRender: true,
      createdRow: (row, item) => { row.onclick = (event) => { if (!event.target.closest("button, a") && !String(getSelection())) openItem(item); }; },
      layout: { topStart: "search", topEnd: "pageLength", bottomStart: "info", bottomEnd: "paging" } });
    fillItems();
  }

  function fillFactors() {
    controls.factor.replaceChildren(...factorEntries(filters.task).map(([value, text]) => node("option", { value }, text)));
    filters.factor = "";
  }

  function lookAt({ task, arm, ability }) {
    location.hash = "items";
    route();
    Object.assign(filters, { task, arm: String(arm), mark: "" });
    fillFactors();
    filters.factor = ability ? "requires: " + ability : "";
    for (const [name, control] of Object.entries(controls)) control.value = filters[name];
    fillItems();
    controls.task.focus();
  }

  /* A against B */

  let sides = null, flips = [], shownFlips = 0;

  function isFlip(item, a, b) {
    const [first, second] = [item.answers.get(a), item.answers.get(b)];
    if (!first || !second || first.value === null || second.value === null || !item.task.width) return false;
    return Math.abs(first.value - second.value) >= 0.5 * item.task.width - 1e-9;
  }

  function moreCards() {
    const [a, b] = [Number(sides.a.value), Number(sides.b.value)];
    by("cards").append(...flips.slice(shownFlips, shownFlips + CARDS).map((item) => card(item, [a, b])));
    shownFlips += CARDS;
    by("more").hidden = shownFlips >= flips.length;
  }

  function fillFlips() {
    const [a, b] = [Number(sides.a.value), Number(sides.b.value)];
    const gain = (item) => item.task.sign * (item.answers.get(b).value - item.answers.get(a).value);
    const asked = items.filter((item) => (!sides.task.value || item.taskKey === sides.task.value) && hasFactor(item, sides.factor.value)
      && item.answers.has(a) && item.answers.has(b));
    flips = asked.filter((item) => isFlip(item, a, b)).sort((item, other) => gain(item) - gain(other));
    const worse = flips.filter((item) => gain(item) < 0).length;
    by("flip-count").textContent = "Of " + asked.length + " items that both were asked, " + flips.length + " flipped: " + worse
      + " where A is better, " + (flips.length - worse) + " where B is.";
    shownFlips = 0;
    by("cards").replaceChildren();
    moreCards();
  }

  function buildFlips() {
    const entries = shownArms.map((n) => [String(n), arms[n].name]);
    const [aLabel, a] = choice("A", entries, fillFlips), [bLabel, b] = choice("B", entries, fillFlips);
    const [taskLabel, task] = choice("Task", [["", "all"], ...tasks], () => {
      factor.replaceChildren(...factorEntries(task.value).map(([value, text]) => node("option", { value }, text)));
      fillFlips();
    });
    const [factorLabel, factor] = choice("Factor", factorEntries(""), fillFlips);
    const [first, second] = examined.length > 1 ? examined : shownArms;
    [a.value, b.value] = [first, second ?? first].map(String);
    sides = { a, b, task, factor };
    by("sides").append(aLabel, bLabel, taskLabel, factorLabel);
    by("more").onclick = moreCards;
    fillFlips();
  }

  /* Score by a measure */

  let axes = null, view = null;

  async function draw() {
    const [taskKey, name] = axes.value.split("\n"), rows = [];
    for (const item of items) {
      if (item.taskKey !== taskKey || !item.measures.has(name)) continue;
      for (const n of shownArms) {
        const answer = item.answers.get(n);
        if (answer && answer.value !== null) rows.push({ subject: arms[n].name, measure: item.measures.get(name), score: answer.value });
      }
    }
    const ink = getComputedStyle(document.body).color;
    const config = { background: null, font: "system-ui, sans-serif", view: { stroke: null },
      axis: { labelColor: ink, titleColor: ink, tickColor: ink, domainColor: ink, gridOpacity: 0.2 }, legend: { labelColor: ink, labelLimit: 400 } };
    const chart = structuredClone(spec);
    chart.encoding.x.title = name;
    const [e, t] = taskKey.split("/").map(Number), task = exams[e].tasks[t];
    if (!task.share || task.width !== 1) chart.layer.shift();
    chart.width = Math.max(240, Math.min(800, by("view-measures").clientWidth - 80));
    const runtime = vega.parse(vegaLite.compile(chart, { config }).spec, null, { ast: true });
    if (view) view.finalize();
    view = new vega.View(runtime, { expr: expressionInterpreter, renderer: "canvas", container: by("chart"), hover: true });
    await view.data("answers", rows).runAsync();
    by("chart").dataset.points = String(rows.length);
  }

  function buildMeasures() {
    const names = new Map();
    for (const item of items) for (const name of item.measures.keys()) {
      const label = (exams.length > 1 ? exams[item.exam].title + ": " : "") + item.task.name + ": " + name;
      names.set(item.taskKey + "\n" + name, label);
    }
    by("no-measure").hidden = names.size > 0;
    if (!names.size) return;
    const [label, select] = choice("Measure", [...names], draw);
    axes = select;
    by("axes").append(label);
    draw();
  }

  /* Views */

  const builders = { grid: grids, items: buildItems, flips: buildFlips, measures: buildMeasures };
  const built = new Set();

  function route() {
    const differ = examined.length === 2 && items.some((item) => isFlip(item, ...examined));
    const name = location.hash.slice(1) in builders ? location.hash.slice(1) : differ ? "flips" : "items";
    for (const other of Object.keys(builders)) by("view-" + other).hidden = other !== name;
    for (const link of document.querySelectorAll("nav a")) {
      if (link.hash === "#" + name) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    if (!built.has(name)) { built.add(name); builders[name](); }
  }
  for (const form of document.querySelectorAll("form")) form.onsubmit = (event) => event.preventDefault();
  addEventListener("hashchange", route);
  route();
})();
