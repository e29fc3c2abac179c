// What if: one person in one of the worlds that were computed. Words and figures are the page's.
(() => {
  const root = document.getElementById("what-if");
  if (!root) { return; }
  const data = JSON.parse(document.getElementById("what-if-data").textContent);
  const at = (id) => document.getElementById("what-if-" + id);
  const AXES = ["own", "others", "model", "dose"];
  const SIZES = [data.own, data.others, data.models, data.doses].map((names) => names.length);
  const [OWN, OTHERS, MODEL, DOSE, SCORE, LABEL, FEATURES, LINKS, ATTRIBUTES] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const MOST_NAMES = 14, MOST_ROWS = 8;
  const options = [...at("people").querySelectorAll("[role=option]")];
  const controls = [...root.querySelectorAll("[data-control]")];
  // `world` has a place on each axis; `last` is the axis that the reader turned last.
  const shown = { place: 0, world: [-1, 0, 0, 0], cut: null, last: 0, strange: "" };

  // ---- numbers and words

  const minus = (text) => text.replace(/^-/, "−");
  const whole = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 0 });

  function plain(value) {
    if (value === null || value === undefined) { return "unknown"; }
    return minus(Math.abs(value) >= 1000 ? whole(value) : String(value));
  }

  function measure(value) {
    if (value === null) { return "undefined"; }
    const size = Math.abs(value);
    if (size >= 1000) { return minus(whole(value)); }
    return minus(size >= 1e-6 && size < 0.0005 ? value.toPrecision(1) : value.toFixed(3));
  }

  const group = (value) => value === null ? "unknown" : data.groups[value] ?? data.unit + plain(value);
  const answer = (label) => label === null ? "undefined" : data.answers[label] ?? plain(label);
  const cell = (column, value) => value === null ? "unknown" : column[3]?.[value] ?? plain(value);

  function counted(count, one, many) { return count + " " + (count === 1 ? one : many); }

  // ---- worlds

  // The person's own value is theirs as it is; and where nothing is set, no causal model is asked.
  function found(person, world) {
    const own = person.theirs.includes(world[OWN]) ? -1 : world[OWN];
    if (own === -1 && world[OTHERS] === 0) { return person.states[0]; }
    const same = (one) => one[OWN] === own && AXES.every((_, i) => i === OWN || one[i] === world[i]);
    return person.states.find(same) || null;
  }

  // The computed world that differs on the fewest axes, and not on the one that was turned last.
  function nearest(person, asked, kept) {
    const own = person.theirs.includes(asked[OWN]) ? -1 : asked[OWN];
    const world = [own, ...asked.slice(1)];
    const apart = (one) => AXES.filter((_, i) => one[i] !== world[i]).length +
      (one[kept] === world[kept] ? 0 : AXES.length);
    return person.states.reduce((a, b) => apart(b) < apart(a) ? b : a).slice(0, AXES.length);
  }

  // The same world for somebody else, with another value of their own where that one is theirs.
  function settled(person, world) {
    const asked = (own) => own === -1 || person.states.some((one) => one[OWN] === own);
    if (asked(world[OWN])) { return [...world]; }
    const other = person.states.find((one) => one[OWN] >= 0);
    return [other ? other[OWN] : -1, ...world.slice(1)];
  }

  function label(state) {
    if (shown.cut === null || state[SCORE] === null) { return state[LABEL]; }
    return state[SCORE] > shown.cut ? 1 : 0;
  }

  // ---- pieces of the page

  function element(name, text, kind) {
    const one = document.createElement(name);
    if (text !== undefined) { one.textContent = text; }
    if (kind) { one.className = kind; }
    return one;
  }

  function bullets(texts) {
    const list = element("ul", undefined, "plain");
    list.append(...texts.map((text) => element("li", text)));
    return list;
  }

  function more(title, inside) {
    const one = element("details");
    one.append(element("summary", title), inside);
    return one;
  }

  function bar(column, before, after) {
    const track = element("span", undefined, "track");
    track.setAttribute("aria-hidden", "true");
    const width = column[2] - column[1];
    if (column[3] || before === null || after === null || !(width > 0)) { return null; }
    const place = (value) => 100 * Math.min(1, Math.max(0, (value - column[1]) / width));
    const [from, to] = [place(before), place(after)];
    const line = element("i", undefined, "way");
    line.style.left = Math.min(from, to) + "%";
    line.style.width = Math.abs(to - from) + "%";
    const [start, end] = [element("i", undefined, "from"), element("i", undefined, "to")];
    start.style.left = from + "%";
    end.style.left = to + "%";
    track.append(line, start, end);
    return track;
  }

  function featureTable(rows) {
    const table = element("table");
    table.append(element("caption", "Columns that move", "heard"));
    const head = table.createTHead().insertRow();
    for (const title of ["column", "as it is", "would be", "among all people"]) {
      const one = element("th", title);
      one.scope = "col";
      head.append(one);
    }
    const body = table.createTBody();
    for (const [place, before, after] of rows) {
      const column = data.columns[place], row = body.insertRow();
      const name = element("th", column[0], "name");
      name.scope = "row";
      const last = element("td", undefined, "wide");
      last.append(bar(column, before, after) || element("span", "—", "soft"));
      row.append(name, element("td", cell(column, before)), element("td", cell(column, after)), last);
    }
    return table;
  }

  function features(person, state) {
    const box = at("features");
    const factual = person.features[0];
    if (!factual.length) { box.replaceChildren(element("p", "The columns were not recorded.")); return; }
    const rows = [], moved = state[FEATURES] ? person.features[state[FEATURES]] : [];
    for (let i = 0; i < moved.length; i += 2) { rows.push([moved[i], factual[moved[i]], moved[i + 1]]); }
    const size = ([place, before, after]) => {
      const width = data.columns[place][2] - data.columns[place][1];
      return data.columns[place][3] || !(width > 0) ? 1 : Math.abs(after - before) / width;
    };
    rows.sort((a, b) => size(b) - size(a));
    const text = rows.length ? `${rows.length} of ${factual.length} move.` : `None of the ${factual.length} moves.`;
    const parts = [element("p", text, "counts")];
    if (rows.length) { parts.push(featureTable(rows.slice(0, MOST_ROWS))); }
    if (rows.length > MOST_ROWS) {
      parts.push(more(`${rows.length - MOST_ROWS} that move less`, featureTable(rows.slice(MOST_ROWS))));
    }
    box.replaceChildren(...parts);
  }

  const pairs = (flat) => flat.flatMap((_, i) => i % 2 ? [] : [[flat[i], flat[i + 1]]]);
  const same = (a, b) => a[0] === b[0] && a[1] === b[1] || !data.directed && a[0] === b[1] && a[1] === b[0];

  function linkWords(person, links) {
    const arrow = data.directed ? " → " : " – ";
    return links.map((pair) => pair.map((place) => person.members[place][0]).join(arrow));
  }

  function linkList(person, kept, gone, fresh) {
    const box = at("links");
    const parts = [element("p", `${kept.length} kept, ${gone.length} gone, ${fresh.length} new.`, "counts")];
    for (const [title, links] of [["gone", gone], ["new", fresh]]) {
      const own = links.filter((pair) => pair.includes(0));
      const other = links.filter((pair) => !pair.includes(0));
      if (own.length) { parts.push(element("p", `Their own, ${title}:`), bullets(linkWords(person, own))); }
      if (other.length) {
        parts.push(more(`Between others, ${title}: ${other.length}`, bullets(linkWords(person, other))));
      }
    }
    if (person.hidden) {
      parts.push(element("p", counted(person.hidden, "further neighbour is", "further neighbours are") +
        " not drawn: those with the most links.", "soft"));
    }
    box.replaceChildren(...parts);
  }

  function drawing(id, person, row, links, named, words) {
    const linked = new Set([0, ...links.filter((one) => one[2] !== "gone" || id === "before").flatMap((one) => [one[0], one[1]])]);
    const members = person.members.map(([name, x, y, count], place) => {
      const value = row[place];
      const share = !data.reach || value === null ? null
        : (value - data.reach[0]) / (data.reach[1] - data.reach[0] || 1);
      return {
        x, y, name, share, group: data.reach ? null : value, named: named.has(place),
        linked: linked.has(place),
        about: `${name}, ${group(value)}, ${counted(count, "link", "links")} as it is`,
      };
    });
    ego.draw(at(id).querySelector("svg"), members, links, data.directed);
    at(id).setAttribute("aria-label", words);
  }

  function keys(rows) {
    const box = at("keys");
    box.replaceChildren();
    const svgOf = (kind) => {
      const svg = document.createElementNS(at("before").querySelector("svg").namespaceURI, "svg");
      svg.setAttribute("viewBox", "0 0 30 16");
      svg.setAttribute("aria-hidden", "true");
      if (typeof kind === "string") { ego.make(svg, "path", { d: "M2,8H28", class: "link " + kind }); }
      else { ego.mark(svg, 15, 8, 5, data.reach ? null : kind[0], data.reach ? kind[1] : null); }
      return svg;
    };
    const entry = (kind, text) => {
      const one = element("span", undefined, "pair");
      one.append(svgOf(kind), " " + text);
      box.append(one, " ");
    };
    if (data.reach) {
      entry([null, 0], group(data.reach[0]));
      entry([null, 1], group(data.reach[1]));
    } else {
      const groups = [...new Set(rows.flat())].filter((one) => one !== null).sort((a, b) => a - b);
      for (const one of groups) { entry([one, null], group(one)); }
    }
    for (const [kind, text] of [["kept", "link kept"], ["gone", "link gone"], ["new", "link new"]]) { entry(kind, text); }
  }

  function egos(person, state) {
    const [gone, fresh] = person.links[state[LINKS]].map(pairs);
    const edges = pairs(person.edges);
    const kept = edges.filter((pair) => !gone.some((one) => same(one, pair)));
    const before = [...kept.map((pair) => [...pair, "kept"]), ...gone.map((pair) => [...pair, "gone"])];
    const after = [...kept.map((pair) => [...pair, "kept"]), ...fresh.map((pair) => [...pair, "new"])];
    const touched = [...gone, ...fresh];
    const few = person.members.length <= MOST_NAMES + 1;
    const own = touched.filter((pair) => pair.includes(0)).flat();
    const named = new Set([0, ...(few ? person.members.keys() : own.length > 2 * MOST_NAMES ? [] : own)]);
    const rows = [person.attributes[0], person.attributes[state[ATTRIBUTES]]];
    const words = (title, links) => `${title}: ${counted(links.length, "link", "links")} among ${person.members.length} people`;
    drawing("before", person, rows[0], before, named, words("As it is", before));
    drawing("after", person, rows[1], after, named,
      words("As it would be", after) + `, ${gone.length} gone and ${fresh.length} new`);
    at("before-name").textContent = "As it is: " + group(rows[0][0]);
    at("after-name").textContent = "As it would be: " + group(rows[1][0]);
    keys(rows);
    linkList(person, kept, gone, fresh);
  }

  // ---- the whole

  function outcome(person, state) {
    const word = answer(label(state));
    if (data.kind === "regression") { return word; }
    const whose = data.kind === "binary" ? "score" : `score of ${answer(person.states[0][LABEL])}`;
    return `${word} (${whose} ${measure(state[SCORE])})`;
  }

  function headline(person, state) {
    const factual = person.states[0];
    const who = (/^\d+$/.test(person.id) ? "Person " : "") + person.id + ", " + group(person.attributes[0][0]);
    if (state === factual) {
      at("headline").textContent = `${who}: ${outcome(person, factual)}, as it is`;
      at("verdict").textContent = person.known;
      return;
    }
    const world = shown.world;
    const own = data.reach ? plain(person.attributes[state[ATTRIBUTES]][0]) : data.own[state[OWN]];
    const set = [
      state[OWN] >= 0 ? `${data.were} ${own}` : "", world[OTHERS] ? data.others[world[OTHERS]] : "",
      world[MODEL] ? data.models[world[MODEL]] : "", world[DOSE] ? data.doses[world[DOSE]] : "",
    ].filter(Boolean).join("; ");
    const same = label(state) === label(factual);
    at("headline").textContent = `${who}: ${outcome(person, factual)} → ${outcome(person, state)} ${set}`;
    const what = data.kind === "regression" ? "prediction" : "answer";
    at("verdict").textContent = (same ? `The ${what} stays.` : `The ${what} changes.`) + " " + person.known;
  }

  function mark() {
    const person = data.people[shown.place];
    for (const box of controls) {
      const axis = AXES.indexOf(box.dataset.control);
      for (const one of box.querySelectorAll("input, option")) {
        const value = Number(one.value);
        const there = [...shown.world];
        there[axis] = value;
        const theirs = axis === OWN && person.theirs.includes(value);
        const some = value <= 0 && axis !== OWN || value === -1 || person.states.some((state) => state[axis] === value);
        const note = theirs ? "theirs" : found(person, there) ? "" : some ? "no data here" : "not computed";
        const chosen = value === shown.world[axis];
        if (one.tagName === "OPTION") {
          one.dataset.word = one.dataset.word ?? one.textContent;
          one.textContent = one.dataset.word + (note ? ` (${note})` : "");
          one.selected = chosen;
        } else {
          one.checked = chosen;
          one.parentElement.querySelector(".state").textContent = note;
        }
      }
    }
    if (data.cut) {
      const cut = shown.cut ?? data.cut[0];
      at("cut").value = cut;
      at("cut").setAttribute("aria-valuetext", plain(Number(cut.toFixed(6))));
      at("cut-text").textContent = shown.cut === null ? `${measure(cut)}, the model’s own` : plain(cut);
      at("cut-reset").setAttribute("aria-pressed", String(shown.cut === null));
    }
    options.forEach((one, place) => one.setAttribute("aria-selected", String(place === shown.place)));
    at("people").setAttribute("aria-activedescendant", options[shown.place].id);
  }

  function address() {
    const hash = new URLSearchParams({ person: data.people[shown.place].id, world: shown.world.join(".") });
    if (shown.cut !== null) { hash.set("cut", shown.cut); }
    return "#" + hash;
  }

  function show() {
    const person = data.people[shown.place];
    const state = shown.strange ? null : found(person, shown.world);
    mark();
    at("nothing").hidden = state !== null;
    at("shown").hidden = state === null;
    root.classList.toggle("changes", state !== null && label(state) !== label(person.states[0]));
    at("link").href = address();
    if (state === null) {
      at("headline").textContent = "No data: " + (shown.strange || `${person.id} in this world was not computed`);
      at("verdict").textContent = "";
      at("missing").textContent = `Of this person, ${counted(person.states.length, "world was", "worlds were")} computed.`;
      return;
    }
    headline(person, state);
    egos(person, state);
    features(person, state);
    const own = shown.cut === null ? [] : ["This was found at the model’s own threshold."];
    at("why").replaceChildren(...[...person.why, ...own].map((text) => element("p", text)));
    at("neighbors").replaceChildren(person.neighbors.length ? bullets(person.neighbors)
      : element("p", "Not examined: this is done for the most affected people alone.", "soft"));
  }

  // After the reader has changed something.
  function changed() {
    shown.strange = "";
    show();
    try { history.replaceState(null, "", address()); } catch { /* An embedded page has no address. */ }
  }

  function select(place) {
    shown.place = place;
    shown.world = settled(data.people[place], shown.world);
    const [one, list] = [options[place], at("people")];
    if (one.offsetTop < list.scrollTop) { list.scrollTop = one.offsetTop - 28; }
    const below = one.offsetTop + one.offsetHeight - list.clientHeight;
    if (below > list.scrollTop) { list.scrollTop = below; }
    changed();
  }

  function restore() {
    const hash = new URLSearchParams(location.hash.slice(1));
    if (!hash.has("person")) { return false; }
    const place = data.people.findIndex((one) => one.id === hash.get("person"));
    const world = (hash.get("world") ?? "-1.0.0.0").split(".").map(Number);
    const fits = world.length === AXES.length && world.every((one, i) =>
      Number.isInteger(one) && one >= (i === OWN ? -1 : 0) && one < SIZES[i]);
    shown.place = Math.max(0, place);
    shown.world = place >= 0 && fits ? world : [-1, 0, 0, 0];
    const cut = hash.has("cut") ? Number(hash.get("cut")) : NaN;
    shown.cut = data.cut && cut >= data.cut[1] && cut <= data.cut[2] ? cut : null;
    shown.strange = place < 0 ? `${hash.get("person")} is not among these people`
      : fits ? "" : "the link names a world that this page does not have";
    show();
    const section = document.getElementById("explorer");
    section.querySelector("details").open = true;
    section.scrollIntoView();
    return true;
  }

  // ---- what the reader does

  at("people").addEventListener("click", (event) => {
    const one = event.target.closest("[role=option]");
    if (one) { select(options.indexOf(one)); }
  });
  at("people").addEventListener("keydown", (event) => {
    const places = options.flatMap((one, place) => one.hidden ? [] : [place]);
    const here = places.indexOf(shown.place), last = places.length - 1;
    const steps = { ArrowDown: here + 1, ArrowUp: here - 1, PageDown: here + 10, PageUp: here - 10, Home: 0, End: last };
    if (!(event.key in steps) || last < 0) { return; }
    event.preventDefault();
    select(places[Math.min(last, Math.max(0, steps[event.key]))]);
  });

  const search = at("search");
  function filter() {
    const wanted = search.value.trim().toLowerCase();
    for (const one of options) { one.hidden = !one.textContent.toLowerCase().includes(wanted); }
    for (const group of at("people").querySelectorAll("[role=group]")) {
      group.hidden = !group.querySelector("[role=option]:not([hidden])");
    }
    const left = options.filter((one) => !one.hidden).length;
    at("found").textContent = `${left} of ${counted(options.length, "person", "people")}`;
  }
  search.addEventListener("input", filter);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "ArrowDown") { return; }
    event.preventDefault();
    const first = options.findIndex((one) => !one.hidden);
    if (first < 0) { return; }
    if (options[shown.place].hidden || event.key === "Enter") { select(first); }
    at("people").focus();
  });

  for (const box of controls) {
    box.addEventListener("change", (event) => {
      shown.last = AXES.indexOf(box.dataset.control);
      shown.world[shown.last] = Number(event.target.value);
      changed();
    });
  }
  at("nearest").addEventListener("click", () => {
    shown.world = nearest(data.people[shown.place], shown.world, shown.last);
    changed();
    at("headline").focus();
  });
  if (data.cut) {
    [at("cut").min, at("cut").max, at("cut").step] = data.cut.slice(1).map(String);
    at("cut").addEventListener("input", () => { shown.cut = Number(at("cut").value); changed(); });
    at("cut-reset").addEventListener("click", () => { shown.cut = null; changed(); });
  }
  at("link").addEventListener("click", (event) => { event.preventDefault(); changed(); });

  root.hidden = false;
  at("table").open = false;
  filter();
  shown.world = settled(data.people[0], [Infinity, 0, 0, 0]);
  window.addEventListener("hashchange", restore);
  if (!restore()) { show(); }
})();
