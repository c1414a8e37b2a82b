// Sent with every message, so kept small: loads the real module once, all its parts at the same time.
const bundle = document.querySelector('script[src*="static/js/"]');
const root = bundle ? bundle.src.split("static/js/")[0] : `${location.origin}/`;
const assets = `${root}{{ASSETS}}`;

function start() {
  for (const name of ["painter", "furniture", "cells", "downloads"])
    document.head.append(Object.assign(document.createElement("link"), { rel: "modulepreload", href: `${assets}/${name}.js` }));
  document.head.append(Object.assign(document.createElement("link"), { id: "av-style", rel: "stylesheet", href: `${assets}/live_figure.css` }));
  return { module: import(`${assets}/live_figure.js`), library: `${root}{{PLOTLY}}` };
}

const attnviz = (window.attnviz ??= start());
export default async (component) => (await attnviz.module).show(component, attnviz);
