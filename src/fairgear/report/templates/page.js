// Values of line charts under the pointer or the arrow keys. Everything else needs no script.
(function () {
  "use strict";
  var tip = document.getElementById("pointer");
  var open = null;

  function nearest(points, x) {
    var best = 0;
    for (var i = 1; i < points.length; i += 1) {
      if (Math.abs(points[i][0] - x) < Math.abs(points[best][0] - x)) { best = i; }
    }
    return best;
  }

  function clear() {
    if (open) {
      open.querySelectorAll(".cursor").forEach(function (mark) { mark.remove(); });
    }
    open = null;
    tip.hidden = true;
  }

  function mark(canvas, kind, x, y) {
    var cursor = document.createElement("i");
    cursor.className = "cursor " + kind;
    cursor.style.left = x + "%";
    if (y !== null) { cursor.style.bottom = y + "%"; }
    canvas.appendChild(cursor);
  }

  function show(canvas, lines, x) {
    clear();
    open = canvas;
    var words = [];
    var at = null;
    lines.forEach(function (line) {
      if (!line.at.length) { return; }
      var point = line.at[nearest(line.at, x)];
      if (at === null) { at = point[0]; mark(canvas, "rule", at, null); }
      mark(canvas, "spot", point[0], point[1]);
      words.push(line.name + " " + point[3] + " (step " + point[2] + ")");
    });
    tip.textContent = words.join("\n");
    tip.hidden = false;
    var box = canvas.getBoundingClientRect();
    var left = box.left + box.width * (at || 0) / 100 + 10;
    left = Math.max(4, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 8));
    tip.style.left = left + window.scrollX + "px";
    tip.style.top = box.top + window.scrollY + 6 + "px";
  }

  document.querySelectorAll(".canvas").forEach(function (canvas) {
    var lines = JSON.parse(canvas.dataset.lines);
    var longest = lines.reduce(function (a, b) { return b.at.length > a.at.length ? b : a; });
    var place = longest.at.length - 1;
    function to(index) {
      place = Math.max(0, Math.min(longest.at.length - 1, index));
      show(canvas, lines, longest.at[place][0]);
    }
    canvas.addEventListener("pointermove", function (event) {
      var box = canvas.getBoundingClientRect();
      to(nearest(longest.at, 100 * (event.clientX - box.left) / box.width));
    });
    canvas.addEventListener("pointerleave", clear);
    canvas.addEventListener("blur", clear);
    canvas.addEventListener("keydown", function (event) {
      if (event.key === "ArrowLeft") { to(place - 1); }
      else if (event.key === "ArrowRight") { to(place + 1); }
      else if (event.key === "Escape") { clear(); return; }
      else { return; }
      event.preventDefault();
    });
  });
}());
