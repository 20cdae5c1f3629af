// Every piece of visible text whose contrast against what lies behind it is too small; "" when all is well.
// Run in the page: colours are resolved by the browser, layers of ground are mixed by their opacity.

const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function channels(colour) {
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
  return { r, g, b, a: a / 255 };
}

const over = (top, below) => ({ r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a), b: top.b * top.a + below.b * (1 - top.a), a: 1 });

function luminance({ r, g, b }) {
  const [x, y, z] = [r, g, b].map((value) => value / 255).map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}

const ratio = (one, other) => {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
};

// In a picture the ground is the shape of the same group; elsewhere the nearest painted ancestors.
function ground(node) {
  const layers = [];
  for (let at = node; at; at = at.parentElement) {
    const style = getComputedStyle(at);
    const shape = at.namespaceURI.endsWith("svg") && at.tagName === "g" ? at.querySelector(":scope > .ground, :scope > circle") : null;
    const colour = shape ? channels(getComputedStyle(shape).fill) : channels(style.backgroundColor);
    if (colour.a > 0) layers.push(colour);
    if (colour.a === 1) break;
  }
  return layers.reverse().reduce((below, top) => over(top, below), channels("white"));
}

function strength(node) {
  let opacity = 1;
  for (let at = node; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
  return opacity;
}

function judge(node) {
  const style = getComputedStyle(node), size = parseFloat(style.fontSize);
  const behind = ground(node), drawn = channels(node.namespaceURI.endsWith("svg") ? style.fill : style.color);
  const found = ratio(over({ ...drawn, a: drawn.a * strength(node) }, behind), behind);
  const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
  return found < needed ? `${found.toFixed(2)} < ${needed}: ${node.tagName.toLowerCase()}.${node.getAttribute("class") ?? ""} "${node.textContent.trim().slice(0, 40)}"` : null;
}

function visible(node) {
  const box = node.getBoundingClientRect();
  return box.width > 1 && box.height > 1 && getComputedStyle(node).visibility === "visible" && node.checkVisibility();
}

const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const holders = new Set();
while (walker.nextNode()) if (walker.currentNode.data.trim()) holders.add(walker.currentNode.parentElement);
const judged = [...holders].filter((node) => !["SCRIPT", "NOSCRIPT", "TITLE", "OPTION", "STYLE", "title"].includes(node.tagName) && visible(node));
return { problems: [...new Set(judged.map(judge).filter(Boolean))], judged: judged.length };
