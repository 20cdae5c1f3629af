// How warm an area is: how much is known there, how fresh that is, what is open, what is disputed, what
// is worked on. Five steps, with words for each, since a colour alone says nothing to many.

const DAY = 86_400_000;

/** @type {[string, string, string][]} */
export const SCALES = [
  ["known", "Knowledge", "How many records hold there"],
  ["fresh", "Freshness", "When something was last written about it"],
  ["open", "Open", "Questions and hypotheses without an answer"],
  ["disputed", "Disputed", "Records that another one contradicts"],
  ["work", "Work", "Tasks and jobs that are not done"],
];

export const LEGENDS = {
  known: ["nothing", "1 or 2", "3 to 9", "10 to 29", "30 and more"],
  fresh: ["never", "over a month ago", "this month", "this week", "today"],
  open: ["none", "1", "2 to 4", "5 to 9", "10 and more"],
  disputed: ["none", "1", "2", "3 or 4", "5 and more"],
  work: ["none", "1", "2", "3 or 4", "5 and more"],
};

const STEPS = {
  known: [1, 3, 10, 30],
  open: [1, 2, 5, 10],
  disputed: [1, 2, 3, 5],
  work: [1, 2, 3, 5],
};

export function levelOf(area, by) {
  if (by === "fresh") return freshness(area.newest_ms);
  const value = by === "known" ? area.holds : area[by];
  return STEPS[by].filter((limit) => value >= limit).length;
}

function freshness(newest) {
  if (!newest) return 0;
  const days = (Date.now() - newest) / DAY;
  return days < 1 ? 4 : days < 7 ? 3 : days < 31 ? 2 : 1;
}

export function heatWords({ holds, open, disputed, work }) {
  if (!holds && !open && !work) return "nothing known";
  return [
    `${holds} known`,
    open ? `${open} open` : "",
    disputed ? `${disputed} disputed` : "",
    work ? `${work} in work` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
