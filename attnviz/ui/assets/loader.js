// Sent with every message, so kept small: loads the real module once, and plotly.js when it is first asked for.
const bundle = document.querySelector('script[src*="static/js/"]');
const root = bundle ? bundle.src.split("static/js/")[0] : `${location.origin}/`;
const library = `${root}{{PLOTLY}}`;

function start() {
  document.head.append(Object.assign(document.createElement("link"), { rel: "preload", as: "script", href: library }));
  return { module: import(`${root}{{ASSETS}}/live_figure.js`), library };
}

const attnviz = (window.attnviz ??= start());
export default async (component) => (await attnviz.module).show(component, attnviz);
