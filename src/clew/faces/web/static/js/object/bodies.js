// Content that is specific to a kind: the steps and proofs of a task, the thread of a job, the
// sides of a contradiction, the fields of a conflict. Each is loaded on demand.

const BODIES = {
  task: () => import("./work.js").then(({ taskBody }) => taskBody),
  plan: () => import("./work.js").then(({ planBody }) => planBody),
  step: () => import("./work.js").then(({ stepBody }) => stepBody),
  receipt: () => import("./work.js").then(({ receiptBody }) => receiptBody),
  job: () => import("./job.js").then(({ jobBody }) => jobBody),
  rule: () => import("./guard.js").then(({ guardBody }) => guardBody),
  decision: () => import("./guard.js").then(({ guardBody }) => guardBody),
  session: () => import("./session.js").then(({ sessionBody }) => sessionBody),
  thought: () => import("./session.js").then(({ thoughtBody }) => thoughtBody),
};

export async function bodyOf(view) {
  const load = BODIES[view.kind];
  if (!load) return null;
  const body = await load();
  return body(view);
}
