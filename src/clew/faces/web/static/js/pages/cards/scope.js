// A branch, or a task or plan whose cards lie on a branch of their own.

const WORK = /^(TASK|PLAN)-\d+$/;

export const isWork = (name) => WORK.test(name);

// As reads of a graph name it.
export const graphScope = (name) => (isWork(name) ? { target: name } : { branch: name });

// As packs name it.
export const packScope = (name) => (isWork(name) ? { target: name } : { ref: name });

export const branchOf = (name) =>
  isWork(name) ? `${name.slice(0, 4).toLowerCase()}/${name}` : name;
