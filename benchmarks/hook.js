// Runs in every page of the benchmark before anything else: tells when what was asked for has been painted.
(() => {
  if (window !== window.top) return;
  const bench = (window.bench = { marks: 0, painted: 0, pressed: 0 });
  const PATIENCE_MS = 120_000;
  const PAINTED = { attributes: true, attributeFilter: ["data-painted"], subtree: true };
  const WRITTEN = { childList: true, characterData: true, subtree: true };

  // A picture has been drawn, by Plotly or ahead of it: painted two frames later.
  function mark() {
    bench.marks += 1;
    const painted = () => (bench.painted = performance.now());
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(painted)));
  }

  new MutationObserver(mark).observe(document, PAINTED);
  addEventListener("message", ({ data }) => data === "drawn" && mark());
  addEventListener("keydown", ({ timeStamp }) => (bench.pressed = timeStamp), true);

  // From here on a changed text counts as a picture.
  bench.watchText = (selector) => new MutationObserver(mark).observe(document.querySelector(selector), WRITTEN);

  // Time from the opening of the page until something that matches is there and painted.
  bench.first = (selector) =>
    new Promise((resolve) => {
      const look = () => {
        if (!document.querySelector(selector)) return requestAnimationFrame(look);
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))));
      };
      look();
    });

  const isRunning = () => document.querySelector('[data-testid="stApp"]').dataset.testScriptState !== "notRunning";

  // Forget what was painted so far; the promise gives the time from the next key press to the last picture painted, once
  // the script has stopped and nothing more has been painted for a while.
  bench.change = (quiet) => {
    Object.assign(bench, { painted: 0, pressed: 0 });
    const start = performance.now();
    bench.done = new Promise((resolve, reject) => {
      const look = () => {
        const isOver = bench.pressed && bench.painted > bench.pressed && performance.now() - bench.painted >= quiet;
        if (isOver && !isRunning()) resolve(bench.painted - bench.pressed);
        else if (performance.now() - start > PATIENCE_MS) reject(new Error("nothing was painted"));
        else setTimeout(look, 25);
      };
      setTimeout(look, 25);
    });
  };
})();
