// Contents that follow the reader, folding, and values of line charts. The page reads without it.
"use strict";

(() => {
  const folds = [...document.querySelectorAll("details.fold")];
  const links = [...document.querySelectorAll(".contents a")];

  // A link into a folded section unfolds it. Other hashes are states of the explorer.
  function reveal() {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return; // Not written by us.
    }
    if (!target) { return; }
    for (let at = target; at; at = at.parentElement) {
      if (at.tagName === "DETAILS") { at.open = true; }
    }
    const inside = target.querySelector(":scope > details.fold");
    if (inside) { inside.open = true; }
    target.scrollIntoView();
  }
  window.addEventListener("hashchange", reveal);
  for (const link of links) {
    // The hash may be the same as before, and then nothing is told of it.
    link.addEventListener("click", () => { setTimeout(reveal); });
  }
  if (location.hash) { reveal(); }

  for (const button of document.querySelectorAll("[data-fold]")) {
    button.addEventListener("click", () => {
      for (const fold of folds) { fold.open = button.dataset.fold === "open"; }
    });
  }

  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("main details:not([open])")];
    for (const one of closed) { one.open = true; }
  });
  window.addEventListener("afterprint", () => {
    for (const one of closed) { one.open = false; }
  });

  // On a small screen the contents would fill it.
  const contents = document.querySelector("details.contents");
  if (contents && window.matchMedia("(max-width: 1099px)").matches) { contents.open = false; }

  // The section that is read: the last one that begins above the middle of the screen.
  const sections = links.map((link) => document.getElementById(link.hash.slice(1)));
  let waiting = false;
  function follow() {
    waiting = false;
    let at = 0;
    sections.forEach((section, place) => {
      if (section.getBoundingClientRect().top < window.innerHeight / 2) { at = place; }
    });
    const end = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
    if (end && window.scrollY > 0) { at = sections.length - 1; }
    links.forEach((link, place) => {
      if (place === at) { link.setAttribute("aria-current", "true"); }
      else { link.removeAttribute("aria-current"); }
    });
  }
  function soon() {
    if (!waiting) { waiting = true; requestAnimationFrame(follow); }
  }
  window.addEventListener("scroll", soon, { passive: true });
  window.addEventListener("resize", soon);
  follow();
})();

(() => {
  const tip = document.getElementById("pointer");
  let open = null;

  function nearest(points, x) {
    let best = 0;
    points.forEach((point, place) => {
      if (Math.abs(point[0] - x) < Math.abs(points[best][0] - x)) { best = place; }
    });
    return best;
  }

  function clear() {
    if (open) { open.querySelectorAll(".cursor").forEach((mark) => mark.remove()); }
    open = null;
    tip.hidden = true;
  }

  function mark(canvas, kind, x, y) {
    const cursor = document.createElement("i");
    cursor.className = "cursor " + kind;
    cursor.style.left = x + "%";
    if (y !== null) { cursor.style.bottom = y + "%"; }
    canvas.appendChild(cursor);
  }

  function show(canvas, lines, x) {
    clear();
    open = canvas;
    const words = [];
    let at = null;
    for (const line of lines) {
      if (!line.at.length) { continue; }
      const point = line.at[nearest(line.at, x)];
      if (at === null) { at = point[0]; mark(canvas, "rule", at, null); }
      mark(canvas, "spot", point[0], point[1]);
      words.push(line.name + " " + point[3] + " (step " + point[2] + ")");
    }
    tip.textContent = words.join("\n");
    tip.hidden = false;
    const box = canvas.getBoundingClientRect();
    const widest = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const left = Math.max(4, Math.min(box.left + box.width * (at || 0) / 100 + 10, widest));
    tip.style.left = left + window.scrollX + "px";
    tip.style.top = box.top + window.scrollY + 6 + "px";
  }

  for (const canvas of document.querySelectorAll(".canvas")) {
    const lines = JSON.parse(canvas.dataset.lines);
    const longest = lines.reduce((a, b) => b.at.length > a.at.length ? b : a);
    let place = longest.at.length - 1;
    const to = (index) => {
      place = Math.max(0, Math.min(longest.at.length - 1, index));
      show(canvas, lines, longest.at[place][0]);
    };
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      to(nearest(longest.at, 100 * (event.clientX - box.left) / box.width));
    });
    canvas.addEventListener("pointerleave", clear);
    canvas.addEventListener("blur", clear);
    canvas.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") { to(place - 1); }
      else if (event.key === "ArrowRight") { to(place + 1); }
      else if (event.key === "Escape") { clear(); return; }
      else { return; }
      event.preventDefault();
    });
  }
})();
