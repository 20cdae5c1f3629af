// Runs before anything is drawn, so that a dark room stays dark. Not a module: those come too late.

(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const wanted = () => {
    try {
      return JSON.parse(localStorage.getItem("clew.theme")) ?? "auto";
    } catch {
      return "auto";
    }
  };
  const apply = () => {
    const name = wanted();
    document.documentElement.dataset.theme = name === "auto" ? (dark.matches ? "dark" : "light") : name;
  };
  dark.addEventListener("change", apply);
  window.addEventListener("clew-theme", apply);
  apply();
})();
