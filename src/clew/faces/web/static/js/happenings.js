// Events in the words of a person: what happened.

import { STATUS } from "./facts.js";
import { WORK_WORDS } from "./lifecycle.js";

const LABELS = {
  block_removed: "removed",
  proposal_staged: "proposed",
  proposal_rejected: "rejected",
  proposal_rolled_back: "rolled back",
  proposal_deferred: "put off",
  proposal_reopened: "taken up again",
  graph_conflict_created: "changed on both branches",
  graph_conflict_resolved: "conflict decided",
  graph_conflict_reopened: "conflict open again",
  fact_reviewed: "fact reviewed",
  dispute_decided: "dispute decided",
  record_retracted: "withdrawn",
  record_restored: "restored",
  step_done: "step closed",
  step_reopened: "step reopened",
  step_blocked: "step blocked",
  step_noted: "noted",
  step_lease_claimed: "step taken",
  step_lease_released: "step released",
  job_created: "job queued",
  job_claimed: "job taken",
  job_completed: "job done",
  job_failed: "job failed",
  task_created: "task created",
  plan_created: "plan created",
  session_started: "reasoning began",
  session_completed: "reasoning completed",
  evidence_captured: "evidence recorded",
  branch_created: "branch created",
  anchor_created: "area created",
  graph_merged: "merged",
  notes_merged: "notes merged",
  graph_applied: "cards changed",
  thought_added: "thought",
  thought_revised: "thought revised",
  thought_branched: "another line of thought",
  thought_critiqued: "thought criticized",
  note_committed: "noted",
  card_changed: "changed",
  card_written: "written",
  card_published: "published",
  records_linked: "linked",
  records_unlinked: "link removed",
};

/** @param {{type: string, payload?: any}} event */
export function happened({ type, payload }) {
  if (type === "block_written") return ORIGINS[payload?.origin] ?? "written";
  if (type === "proposal_applied") return payload?.automatic ? "applied" : "approved";
  if (type === "matter_put_off") return payload?.until_ms ? "put off" : "taken up again";
  if (type === "task_completed") {
    const status = payload?.status;
    return status && status !== STATUS.WORK_DONE ? `now ${WORK_WORDS[status] ?? status.toLowerCase()}` : "finished";
  }
  if (type === "job_reported") return { question: "asks", error: "reports an error" }[payload?.kind] ?? "job reports";
  return LABELS[type] ?? type.replaceAll("_", " ");
}

// How a version of a record came to be.
export const ORIGINS = {
  apply: "approved",
  edit: "edited in the file",
  contradictions: "found by Clew",
  capture: "captured from a conversation",
  propose: "proposed",
  rollback: "rolled back",
  review: "decided in review",
  scan: "found by a scan",
  share: "shared by an agent",
  remember: "remembered",
  undo: "undone",
  restore: "restored",
  direct: "edited",
};
