// What the kernel says of processes that may end while they are looked at.
import { readFileSync, readdirSync } from 'node:fs';

/// What `read` answers, or `otherwise` where the process has ended meanwhile.
export const unlessGone = (read, otherwise) => {
  try {
    return read();
  } catch {
    return otherwise;
  }
};

/// As /proc has it: `T` stopped, `Z` ended and not reaped; empty where it is gone.
export const stateOf = (pid) => unlessGone(
    () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)[0], '');

/// The kernel's own list of a process's children, thread by thread: quicker than a walk over all
/// processes.
export const listedChildren = (pid) =>
    unlessGone(() => readdirSync(`/proc/${pid}/task`), []).flatMap((thread) => unlessGone(
        () => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'), '')
        .split(' ').filter(Boolean).map(Number));
