// Sent with every message, so kept small: loads the real module once, from the server's own files.
const script = document.querySelector('script[src*="static/js/"]');
const root = script ? script.src.split("static/js/")[0] : `${location.origin}/`;
const loading = (window.attnvizFigure ??= import(`${root}component/{{ASSETS}}/live_figure.js?v={{VERSION}}`));
export default async function (component) {
  const module = await loading;
  return module.show(component, root);
}
