// Sent with every message, so kept small: loads plotly.js and the real module, once and side by side.
const bundle = document.querySelector('script[src*="static/js/"]');
const root = bundle ? bundle.src.split("static/js/")[0] : `${location.origin}/`;

function plotly() {
  return new Promise((onload, onerror) => {
    document.head.append(Object.assign(document.createElement("script"), { src: `${root}{{PLOTLY}}`, onload, onerror }));
  });
}

function start() {
  const drawn = plotly();
  drawn.catch(() => {});
  const assets = `${root}{{ASSETS}}`;
  return { module: import(`${assets}/live_figure.js`), plotly: drawn, root, library: `${root}{{PLOTLY}}` };
}

const attnviz = (window.attnviz ??= start());
export default async (component) => (await attnviz.module).show(component, attnviz);
