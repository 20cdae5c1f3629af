// Ctrl-K: pages, actions, records and recall in one box.

export async function search() {
  const { openSearch } = await import("./palette.js");
  openSearch();
}
