// What if: one person in one of the worlds that were computed. Words and figures are the page's.
(() => {
  const root = document.getElementById("what-if");
  if (!root) { return; }
  const data = JSON.parse(document.getElementById("what-if-data").textContent);
  const at = (id) => document.getElementById("what-if-" + id);
  const AXES = ["own", "others", "model", "dose"];
  const SIZES = [data.own, data.others, data.models, data.doses].map((names) => names.length);
  const [OWN, OTHERS, MODEL, DOSE, SCORE, LABEL, FEATURES, LINKS, ATTRIBUTES] = Array(9).keys();
  const {
    plain, measure, told, answer, counted, visible, element, bullets, features,
    egos,
  } = facets(data, at);
  const options = [...at("people").querySelectorAll("[role=option]")];
  const controls = [...root.querySelectorAll("[data-control]")];
  // `place` is −1 where a link names nobody who is here. `world` has a place on each axis; `last` is
  // the axis that the reader turned last.
  const shown = { place: 0, world: [-1, 0, 0, 0], cut: null, last: 0, strange: "" };

  // ---- worlds

  // The person's own value is theirs as it is; and where nothing is set, no causal model is asked.
  function found(person, world) {
    const own = person.theirs.includes(world[OWN]) ? -1 : world[OWN];
    if (own === -1 && world[OTHERS] === 0) { return person.states[0]; }
    const wanted = [own, ...world.slice(1)];
    return person.states.find((one) => wanted.every((value, i) => one[i] === value)) || null;
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

  // A number that moves no further than the audit's own measure counts as the same.
  function distance(person, state) {
    const [before, after] = [person.states[0][SCORE], state[SCORE]];
    return before === null || after === null ? 0 : Math.abs(after - before);
  }

  function another(person, state) {
    if (data.counts !== null) { return distance(person, state) > data.counts; }
    return label(state) !== label(person.states[0]);
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
    const name = (/^\d+$/.test(person.id) ? "Person " : "") + person.id;
    const who = `${name}, ${told(person, 0, person.attributes[0][0])}: ${data.asked}`;
    if (state === factual) {
      at("headline").textContent = `${who}${outcome(person, factual)}, as it is`;
      at("verdict").textContent = person.known;
      return;
    }
    const world = shown.world;
    const own = data.reach ? plain(person.attributes[state[ATTRIBUTES]][0]) : data.own[state[OWN]];
    const set = [
      state[OWN] >= 0 ? `${data.were} ${own}` : "", world[OTHERS] ? data.others[world[OTHERS]] : "",
      world[MODEL] ? data.models[world[MODEL]] : "", world[DOSE] ? data.doses[world[DOSE]] : "",
    ].filter(Boolean).join("; ");
    const [before, after] = [factual, state].map((one) => outcome(person, one));
    at("headline").textContent = `${who}${before} → ${after} ${set}`;
    const what = data.kind === "regression" ? "prediction" : "answer";
    let becomes = another(person, state) ? "changes" : "stays";
    const moved = data.counts === null ? 0 : Number(distance(person, state).toPrecision(4));
    if (becomes === "stays" && moved) {
      becomes = `moves by ${plain(moved)}, less than counts as another`;
    }
    at("verdict").textContent = `The ${what} ${becomes}. ${person.known}`;
  }

  function mark(person) {
    for (const box of controls) {
      const axis = AXES.indexOf(box.dataset.control);
      for (const one of box.querySelectorAll("input, option")) {
        const value = Number(one.value);
        const there = [...shown.world];
        there[axis] = value;
        const theirs = axis === OWN && person.theirs.includes(value);
        const some = person.states.some((state) => state[axis] === value);
        const none = some ? "no data here" : "not computed";
        const note = theirs ? "theirs" : found(person, there) ? "" : none;
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
      at("cut-text").textContent =
        shown.cut === null ? `${measure(cut)}, the model’s own` : plain(cut);
      at("cut-reset").setAttribute("aria-pressed", String(shown.cut === null));
    }
  }

  function markList() {
    options.forEach((one, place) => {
      one.setAttribute("aria-selected", String(place === shown.place));
    });
    const chosen = options[shown.place];
    if (chosen) { at("people").setAttribute("aria-activedescendant", chosen.id); }
    else { at("people").removeAttribute("aria-activedescendant"); }
  }

  function address() {
    const { id } = data.people[shown.place];
    const hash = new URLSearchParams({ person: id, world: shown.world.join(".") });
    if (shown.cut !== null) { hash.set("cut", shown.cut); }
    return "#" + hash;
  }

  function show() {
    const person = data.people[shown.place];
    const state = shown.strange || !person ? null : found(person, shown.world);
    markList();
    for (const one of root.querySelectorAll(".controls, .notes, .shared")) { one.hidden = !person; }
    at("nothing").hidden = state !== null || !person;
    at("shown").hidden = state === null;
    root.classList.toggle("changes", state !== null && another(person, state));
    if (!person) {
      at("headline").textContent = "No data: " + shown.strange;
      at("verdict").textContent = "";
      return;
    }
    mark(person);
    at("link").href = address();
    if (state === null) {
      const words = shown.strange || `${person.id} in this world was not computed`;
      at("headline").textContent = "No data: " + words;
      at("verdict").textContent = "";
      const count = counted(person.states.length, "world was", "worlds were");
      at("missing").textContent = `Of this person, ${count} computed.`;
      return;
    }
    headline(person, state);
    egos(person, state[LINKS], state[ATTRIBUTES]);
    features(person, state[FEATURES]);
    const own = shown.cut === null ? [] : ["This was found at the model’s own threshold."];
    at("why").replaceChildren(...[...person.why, ...own].map((text) => element("p", text)));
    at("neighbors").replaceChildren(person.neighbors?.length ? bullets(person.neighbors)
      : element("p", person.nobody, "soft"));
  }

  // After the reader has changed something.
  function changed() {
    shown.strange = "";
    show();
    try {
      history.replaceState(null, "", address());
    } catch {
      // An embedded page has no address of its own.
    }
  }

  // Scrolls the list alone, never the page.
  function reveal() {
    const [one, list] = [options[shown.place], at("people")];
    if (one.offsetTop < list.scrollTop) { list.scrollTop = one.offsetTop - 28; }
    const below = one.offsetTop + one.offsetHeight - list.clientHeight;
    if (below > list.scrollTop) { list.scrollTop = below; }
  }

  function select(place) {
    shown.place = place;
    shown.world = settled(data.people[place], shown.world);
    changed();
    reveal();
  }

  function restore() {
    const hash = new URLSearchParams(location.hash.slice(1));
    if (!hash.has("person")) { return false; }
    const name = visible(hash.get("person"));
    const place = data.people.findIndex((one) => one.id === name);
    const world = (hash.get("world") ?? "-1.0.0.0").split(".").map(Number);
    const fits = world.length === AXES.length && world.every((one, i) =>
      Number.isInteger(one) && one >= (i === OWN ? -1 : 0) && one < SIZES[i]);
    shown.place = place;
    shown.world = place >= 0 && fits ? world : [-1, 0, 0, 0];
    const cut = hash.has("cut") ? Number(hash.get("cut")) : NaN;
    shown.cut = data.cut && cut >= data.cut[1] && cut <= data.cut[2] ? cut : null;
    shown.strange = place < 0 ? `nobody called ${name} is among these people`
      : fits ? "" : "the link names a world that this page does not have";
    show();
    const section = document.getElementById("explorer");
    section.querySelector("details").open = true;
    section.scrollIntoView();
    if (place >= 0) { reveal(); }
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
    const steps = {
      ArrowDown: here + 1, ArrowUp: here - 1, PageDown: here + 10, PageUp: here - 10,
      Home: 0, End: last,
    };
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
    if (!options[shown.place] || options[shown.place].hidden || event.key === "Enter") { select(first); }
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
