// What the explorer shows of one person in one world: columns, links, and both drawings.
const facets = (data, at) => {
  const MOST_NAMES = 14, MOST_ROWS = 8;

  // ---- numbers and words

  const minus = (text) => text.startsWith("-") ? text.replaceAll("-", "−") : text;
  const whole = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 0 });

  function plain(value) {
    if (value === null || value === undefined) { return "unknown"; }
    const size = Math.abs(value);
    if (size >= 1000) { return minus(whole(value)); }
    if (size === 0 || size >= 1e-4) { return minus(String(value)); }
    return minus(value.toExponential().replace(/-(\d)$/, "-0$1"));
  }

  function measure(value) {
    if (value === null) { return "undefined"; }
    const size = Math.abs(value);
    if (size >= 1000) { return minus(whole(value)); }
    return minus(size >= 1e-6 && size < 0.0005 ? value.toPrecision(1) : value.toFixed(3));
  }

  function group(value) {
    return value === null ? "unknown" : data.groups[value] ?? data.unit + plain(value);
  }

  // A member's group or number in a world; of a guess, which is as it is, that it is one.
  function told(person, place, value) {
    const guess = person.members[place][4] && value === person.attributes[0][place];
    if (!guess || value === null) { return group(value); }
    return `${data.taken} ${data.groups[value] ?? plain(value)}`;
  }

  const answer = (label) => label === null ? "undefined" : data.answers[label] ?? plain(label);
  const cell = (column, value) => value === null ? "unknown" : column[3]?.[value] ?? plain(value);

  function counted(count, one, many) { return count + " " + (count === 1 ? one : many); }

  // As the page writes every name: what steers direction or cannot be seen, but joiners, by number.
  function visible(text) {
    const hidden = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
    const code = (one) => one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return text.replace(hidden, (one) => `‹U+${code(one)}›`);
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
      const values = [before, after].map((value) => element("td", cell(column, value)));
      row.append(name, ...values, last);
    }
    return table;
  }

  function features(person, row) {
    const box = at("features");
    const factual = person.features[0];
    if (!factual.length) {
      box.replaceChildren(element("p", "The columns were not recorded."));
      return;
    }
    const rows = [], moved = row ? person.features[row] : [];
    for (const [place, after] of pairs(moved)) { rows.push([place, factual[place], after]); }
    const size = ([place, before, after]) => {
      const width = data.columns[place][2] - data.columns[place][1];
      return data.columns[place][3] || !(width > 0) ? 1 : Math.abs(after - before) / width;
    };
    rows.sort((a, b) => size(b) - size(a));
    const count = rows.length ? `${rows.length} of ${factual.length} move.`
      : `None of the ${factual.length} moves.`;
    const parts = [element("p", count, "counts")];
    if (rows.length) { parts.push(featureTable(rows.slice(0, MOST_ROWS))); }
    if (rows.length > MOST_ROWS) {
      const rest = rows.slice(MOST_ROWS);
      parts.push(more(`${rest.length} that move less`, featureTable(rest)));
    }
    box.replaceChildren(...parts);
  }

  const pairs = (flat) => flat.flatMap((_, i) => i % 2 ? [] : [[flat[i], flat[i + 1]]]);
  function same(a, b) {
    return a[0] === b[0] && a[1] === b[1] || !data.directed && a[0] === b[1] && a[1] === b[0];
  }


  const nameOf = (person, place) => person.members[place][0];

  // The other ends of a person's own links.
  function ends(person, links) {
    return links.map(([from, to]) => {
      const way = !data.directed ? "" : from === 0 ? "to " : "from ";
      return way + nameOf(person, from === 0 ? to : from);
    }).join(", ");
  }

  function linkList(person, kept, gone, fresh) {
    const arrow = data.directed ? " → " : " – ";
    const count = `${kept.length} kept, ${gone.length} gone, ${fresh.length} new.`;
    const parts = [element("p", count, "counts")];
    for (const [title, links] of [["gone", gone], ["new", fresh]]) {
      const own = links.filter((pair) => pair.includes(0));
      const other = links.filter((pair) => !pair.includes(0));
      if (own.length) { parts.push(element("p", `Their own, ${title}: ${ends(person, own)}.`)); }
      if (other.length) {
        const names = other.map((pair) => pair.map((place) => nameOf(person, place)).join(arrow));
        parts.push(more(`Between others, ${title}: ${other.length}`, bullets(names)));
      }
    }
    if (person.hidden) {
      const count = counted(person.hidden, "more person is", "more people are");
      parts.push(element("p", `${count} linked to them in some world, and not drawn.`, "soft"));
    }
    at("links").replaceChildren(...parts);
  }

  function drawing(id, person, row, links, named, words) {
    const own = links.filter(([from, to]) => from === 0 || to === 0);
    const linked = new Set([0, ...own.flatMap(([from, to]) => [from, to])]);
    const members = person.members.map(([name, x, y, count], place) => {
      const value = row[place];
      const share = !data.reach || value === null ? null
        : (value - data.reach[0]) / (data.reach[1] - data.reach[0] || 1);
      return {
        x, y, name, share, group: data.reach ? null : value, named: named.has(place),
        linked: linked.has(place),
        about: `${name}, ${told(person, place, value)}, ${counted(count, "link", "links")} as it is`,
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
      const line = typeof kind === "string";
      if (line) { ego.make(svg, "path", { d: "M2,8H28", class: "link " + kind }); }
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
    for (const kind of ["kept", "gone", "new"]) { entry(kind, "link " + kind); }
  }

  function egos(person, changed, values) {
    const [gone, fresh] = person.links[changed].map(pairs);
    const edges = pairs(person.edges);
    const kept = edges.filter((pair) => !gone.some((one) => same(one, pair)));
    const as = (links, kind) => links.map((pair) => [...pair, kind]);
    const before = [...as(kept, "kept"), ...as(gone, "gone")];
    const after = [...as(kept, "kept"), ...as(fresh, "new")];
    const touched = [...gone, ...fresh];
    const few = person.members.length <= MOST_NAMES + 1;
    const own = touched.filter((pair) => pair.includes(0)).flat();
    const readable = own.length <= 2 * MOST_NAMES ? own : [];
    const named = new Set([0, ...(few ? person.members.keys() : readable)]);
    const rows = [person.attributes[0], person.attributes[values]];
    const words = (title, links) =>
      `${title}: ${counted(links.length, "link", "links")} among ${person.members.length} people`;
    drawing("before", person, rows[0], before, named, words("As it is", before));
    drawing("after", person, rows[1], after, named,
      words("As it would be", after) + `, ${gone.length} gone and ${fresh.length} new`);
    at("before-name").textContent = "As it is: " + told(person, 0, rows[0][0]);
    at("after-name").textContent = "As it would be: " + told(person, 0, rows[1][0]);
    keys(rows);
    linkList(person, kept, gone, fresh);
  }

  return {
    plain, measure, told, answer, counted, visible, element, bullets, features, egos,
  };
};
