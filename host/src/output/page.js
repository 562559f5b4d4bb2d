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
  picture.addEventListener("keydown", (event) => {
    const wanted = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: steps.length - 1 }[event.key];
    // In a wide picture these keys scroll.
    const scrolls = event.target.classList.contains("scroll");
    if (wanted === undefined || scrolls || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(wanted);
  });

  for (const step of steps) step.querySelector("figcaption").hidden = true;
  picture.querySelector(".controls").hidden = false;
  now.hidden = false;
  show(0);
}
