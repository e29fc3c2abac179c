// The drawing of a person and of those around them in one world.
const ego = (() => {
  const CENTRE = [200, 160], REACH = [1.18, 1.22], SMALL = 7, LARGE = 11;
  // Of each of the first groups, around a middle of 0, 0 and of size 1; later ones are numbered.
  const SHAPES = [
    "M-1,0A1,1 0 1 1 1,0A1,1 0 1 1 -1,0Z", "M0,-1.25L1.25,0L0,1.25L-1.25,0Z",
    "M0,-1.3L1.2,0.9L-1.2,0.9Z", "M-0.95,-0.95H0.95V0.95H-0.95Z",
    "M0,1.3L1.2,-0.9L-1.2,-0.9Z",
    "M-0.35,-1.1H0.35V-0.35H1.1V0.35H0.35V1.1H-0.35V0.35H-1.1V-0.35H-0.35Z",
  ];

  function make(parent, name, attributes, text) {
    const one = document.createElementNS(parent.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) { one.setAttribute(key, value); }
    if (text !== undefined) { one.textContent = text; }
    parent.appendChild(one);
    return one;
  }

  // Somebody of a group, or of a share of the way from the lowest number to the highest.
  function mark(parent, x, y, size, group, share) {
    const known = group !== null && group < SHAPES.length;
    const one = make(parent, "path", {
      d: SHAPES[known ? group : 0], transform: `translate(${x} ${y}) scale(${size})`,
      class: share !== null ? "mark number" : known ? "mark g" + group : "mark other",
    });
    if (share !== null) { one.style.fillOpacity = 0.12 + 0.88 * share; }
    if (share === null && group !== null && !known) {
      make(parent, "text", { x, y: y + 3, class: "digits" }, String(group));
    }
  }

  // A path that ends where the marks begin. Arrows bend, so that both ways can be told apart, and
  // so do links between others that would run through the person.
  function link(parent, from, to, kind, directed) {
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
    const along = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
    const tenths = (value) => Math.round(10 * value) / 10;
    const [a, b] = [[from, from[2] + 2], [to, -to[2] - (directed ? 5 : 2)]].map(
      ([point, gap]) => [0, 1].map((i) => tenths(point[i] + gap * along[i])));
    const middle = [0, 1].map((i) => (a[i] + b[i]) / 2);
    const through = from[2] === SMALL && to[2] === SMALL
      && Math.hypot(middle[0] - CENTRE[0], middle[1] - CENTRE[1]) < 3 * LARGE;
    const bow = through ? 70 : directed ? length / 12 : 0;
    const bend = [0, 1].map((i) => tenths(middle[i] + (i ? 1 : -1) * along[1 - i] * bow));
    make(parent, "path", { d: bow ? `M${a}Q${bend} ${b}` : `M${a}L${b}`, class: "link " + kind });
    if (!directed) { return; }
    const turn = 180 * Math.atan2(b[1] - bend[1], b[0] - bend[0]) / Math.PI;
    make(parent, "path", {
      d: "M5,0L-4,-4L-4,4Z", transform: `translate(${b}) rotate(${turn})`, class: "arrow " + kind,
    });
  }

  function name(parent, point, text, middle) {
    const short = [...text].length > 13 ? [...text].slice(0, 12).join("") + "…" : text;
    const dx = point[0] - CENTRE[0], dy = point[1] - CENTRE[1];
    const above = middle || Math.abs(dx) < 30;
    const gap = point[2] + 5;
    make(parent, "text", {
      x: above ? point[0] : point[0] + (dx < 0 ? -gap : gap),
      y: !above ? point[1] + 4 : !middle && dy < 0 ? point[1] - gap : point[1] + gap + 9,
      class: "name " + (above ? "middle" : dx < 0 ? "end" : "start"),
    }, short);
  }

  /* Draw into an empty <svg>.
     members: {x, y, name, group, share, about, named, linked}; links: [from, to, kind]. */
  function draw(svg, members, links, directed) {
    svg.replaceChildren();
    const points = members.map((one, place) => [
      CENTRE[0] + one.x * REACH[0], CENTRE[1] + one.y * REACH[1], place ? SMALL : LARGE,
    ]);
    // What stays lies below what does not.
    const rank = (one) => one[2] === "kept" ? 0 : 1;
    for (const [from, to, kind] of [...links].sort((a, b) => rank(a) - rank(b))) {
      // The person's own are in front; those of people who are not linked to them here, far back.
      const near = members[from].linked && members[to].linked;
      const depth = from === 0 || to === 0 ? " own" : near ? "" : " far";
      if (from !== to) { link(svg, points[from], points[to], kind + depth, directed); }
    }
    members.forEach((one, place) => {
      const node = make(svg, "g", { class: one.linked ? "node" : "node apart" });
      make(node, "title", {}, one.about);
      mark(node, points[place][0], points[place][1], points[place][2], one.group, one.share);
    });
    members.forEach((one, place) => {
      if (one.named) { name(svg, points[place], one.name, place === 0); }
    });
  }

  return { draw, make, mark };
})();
