"use strict";
// Without this script the page shows all steps of a picture below each other, in the reader's scheme.
{
  const root = document.documentElement;
  const scheme = document.getElementById("scheme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.scheme ?? (system.matches ? "dark" : "light")) === "dark";
  const name = () => { scheme.textContent = isDark() ? "Light" : "Dark"; };
  scheme.addEventListener("click", () => { root.dataset.scheme = isDark() ? "light" : "dark"; name(); });
  system.addEventListener("change", name);
  scheme.hidden = false;
  name();
}

// The step players, each with the function that shows one of its steps.
const players = [];

for (const picture of document.querySelectorAll(".picture")) {
  const steps = [...picture.querySelectorAll(".steps > li")];
  if (steps.length === 0) continue;
  const [previous, slider, next] = picture.querySelector(".controls").children;
  const now = picture.querySelector(".now");
  let current = 0;

  const show = (wanted) => {
    current = Math.min(Math.max(wanted, 0), steps.length - 1);
    steps.forEach((step, index) => { step.hidden = index !== current; });
    slider.value = current + 1;
    const caption = steps[current].querySelector("figcaption").textContent;
    const text = `Step ${current + 1} of ${steps.length}: ${caption}`;
    slider.setAttribute("aria-valuetext", `${current + 1} of ${steps.length}`);
    now.textContent = text;
    previous.setAttribute("aria-disabled", current === 0);
    next.setAttribute("aria-disabled", current === steps.length - 1);
  };

  previous.addEventListener("click", () => show(current - 1));
  next.addEventListener("click", () => show(current + 1));
  slider.addEventListener("input", () => show(Number(slider.value) - 1));
  players.push({ picture, go: (key) => {
    const wanted = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: steps.length - 1 }[key];
    if (wanted !== undefined) show(wanted);
    return wanted !== undefined;
  } });

  for (const step of steps) step.querySelector("figcaption").hidden = true;
  picture.querySelector(".controls").hidden = false;
  now.hidden = false;
  show(0);
}

// The keys are for the picture that has the focus. If nothing has it, the arrows are for the picture
// that is nearest to the middle of the window.
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const distance = ({ picture }) => {
    const box = picture.getBoundingClientRect();
    return Math.max(box.top - innerHeight / 2, innerHeight / 2 - box.bottom, 0);
  };
  let player;
  if (event.target === document.body) {
    const visible = players.filter(({ picture }) => {
      const box = picture.getBoundingClientRect();
      return box.bottom > 0 && box.top < innerHeight;
    });
    const isArrow = event.key === "ArrowLeft" || event.key === "ArrowRight";
    if (isArrow && visible.length > 0) player = visible.reduce((a, b) => distance(b) < distance(a) ? b : a);
  } else if (!event.target.classList.contains("scroll") || event.target.scrollWidth <= event.target.clientWidth) {
    // In a picture that is wider than its place these keys scroll.
    player = players.find(({ picture }) => picture.contains(event.target));
  }
  if (player?.go(event.key)) event.preventDefault();
});
